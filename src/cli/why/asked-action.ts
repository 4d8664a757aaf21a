import type { Attributes } from "../../authorization/authorizer.ts";
import { isMistyped, likelyMeant } from "../../authorization/did-you-mean.ts";
import { isAboutSigners } from "../../authorization/minimal-rule.ts";
import { storedVerbs } from "../../apis/resource.ts";
import type { Args } from "../command.ts";
import type { ServerAccess } from "../server-access.ts";
import { kindNamed, servedKinds, type DiscoveredKind } from "./served-kinds.ts";
import type { Client } from "../../client/client.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { namespaces } from "../../apis/namespace.ts";
import { usageError } from "../cli-error.ts";
import { writeLine } from "../printable.ts";
import type { Io } from "../io.ts";

/** The action of a command line, without its subject. */
interface AskedAction {
  readonly attributes: Omit<Attributes, "user">;
  /** Warnings about words that the caller may have meant otherwise. */
  readonly warnings: readonly string[];
  /** Whether a word occurs in no request, so that a right to it would be of no use. */
  readonly isMistyped: boolean;
}

/** The inputs for parsing the words. */
interface ActionSurroundings {
  /** Undefined where discovery is denied. */
  readonly kinds: readonly DiscoveredKind[] | undefined;
  /** The namespace of the kubeconfig's context. */
  readonly namespace: string;
}

/** The action of the command line, with the kinds that the server serves; prints warnings about ambiguous words on standard error. @throws CliError usage */
export async function askedOf(
  args: Args,
  io: Io,
  { client, config }: ServerAccess,
): Promise<Omit<AskedAction, "warnings"> & Pick<ActionSurroundings, "kinds">> {
  const kinds = await servedKinds(client);
  const { warnings, ...asked } = askedAction(args, { kinds, namespace: config.namespace });
  const more = await namespaceWarnings(args, asked.attributes.namespace, client);
  for (const warning of [...warnings, ...more]) writeLine(io.stderr, `warning: ${warning}`);
  return { ...asked, kinds };
}

const nothing = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };

/**
 * Parses VERB and RESOURCE[/NAME] or /PATH as `kubectl auth can-i` does. Unlike there the namespace is that of a real request: none for a
 * resource that is not namespaced. @throws CliError usage
 */
function askedAction(args: Args, { kinds, namespace }: ActionSurroundings): AskedAction {
  const [verb = "", what = ""] = args.operands;
  if (what.startsWith("/")) return askedPath(verb, what, args);
  const known = kinds ?? [];
  checkOrder(verb, what, known);
  const [word = "", ...rest] = what.split("/");
  const name = rest.join("/");
  const kind = word === "*" ? undefined : kindNamed(known, word);
  const subresource = args.text("subresource") ?? "";
  const { resource, group, version, isClusterWide } = namedResource(word, kind);
  const place = placeOf(args, { kind: { group, plural: resource, isClusterWide }, namespace, name });
  const attributes = { verb, group, version, resource, subresource, namespace: place.namespace, name, path: undefined };
  const hints = kinds === undefined ? [] : likelyMeant({ ...attributes, user: anonymousSubject }, kinds);
  return {
    attributes,
    warnings: [
      ...(kinds === undefined ? [unknownKinds] : []),
      ...hints.map(({ text }) => text),
      ...nameWarnings(kind, name, subresource),
      ...place.warnings,
    ],
    isMistyped: hints.some(isMistyped),
  };
}

/** @throws CliError usage */
function checkOrder(verb: string, what: string, kinds: readonly DiscoveredKind[]): void {
  if (kindNamed(kinds, verb) !== undefined && (storedVerbs as readonly string[]).includes(what)) {
    throw usageError(`the verb comes first: ${what} ${verb}, and not ${verb} ${what}`);
  }
}

const unknownKinds = "the server does not say which resources it has; the words are taken as they are";

function askedPath(verb: string, path: string, args: Args): AskedAction {
  if (args.text("subresource") !== undefined) {
    throw usageError(`a path has no parts: --subresource goes with a resource, not with ${path}`);
  }
  return { attributes: { ...nothing, verb, path }, warnings: [], isMistyped: false };
}

/** Callers often write a subresource like a name. */
function nameWarnings(kind: DiscoveredKind | undefined, name: string, subresource: string): readonly string[] {
  if (kind === undefined) return [];
  const { plural, subresources } = kind;
  if (name.includes("/")) return [`no ${plural} are called ${name}; for a part: NAME --subresource=PART`];
  if (subresource !== "" || !subresources.includes(name)) return [];
  return [`${name} is taken as the name of one object; for the part of any give --subresource=${name}`];
}

const anonymousSubject = { username: "", groups: [] };

interface NamedResource extends Pick<Attributes, "resource" | "group" | "version"> {
  readonly isClusterWide: boolean;
}

function namedResource(word: string, kind: DiscoveredKind | undefined): NamedResource {
  if (kind !== undefined) {
    const { plural, group, version, namespaced } = kind;
    return { resource: plural, group, version, isClusterWide: !namespaced };
  }
  const written = asWritten(word);
  return { ...written, isClusterWide: isAboutSigners({ ...written, path: undefined }) };
}

/** A resource that the server does not have is still valid in the question. */
function asWritten(word: string): Pick<Attributes, "resource" | "group" | "version"> {
  const [resource = "", ...group] = word.split(".");
  return { resource, group: word === "*" ? "*" : group.join("."), version: "" };
}

function placeOf(
  args: Args,
  asked: {
    readonly kind: { readonly group: string; readonly plural: string; readonly isClusterWide: boolean };
    readonly namespace: string;
    readonly name: string;
  },
): { readonly namespace: string; readonly warnings: readonly string[] } {
  const { kind, namespace, name } = asked;
  const given = args.text("namespace");
  if (kind.isClusterWide) {
    const warnings = given === undefined ? [] : [`${kind.plural} do not lie in namespaces; -n is left out`];
    // The namespace of a Namespace is itself, also for RBAC.
    return { namespace: kind.group === "" && kind.plural === "namespaces" ? name : "", warnings };
  }
  return { namespace: args.on("all-namespaces") ? "" : (given ?? namespace), warnings: [] };
}

/**
 * A warning where -n names a namespace that the server does not have: the decision is still about that name. Empty where it exists, or
 * where the caller may not read it.
 */
async function namespaceWarnings(args: Args, asked: string, client: Client): Promise<readonly string[]> {
  if (asked === "" || args.text("namespace") !== asked) return [];
  try {
    await client.get(namespaces, { name: asked });
    return [];
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 404) return [];
    return [`the server has no namespace "${asked}"`];
  }
}
