import { nearest } from "../apimachinery/nearest.ts";
import { quoted } from "../apimachinery/quoted.ts";
import { storedVerbs } from "../apis/resource.ts";
import type { Attributes } from "./authorizer.ts";
import type { NearMiss } from "./suggest-bindings.ts";

/** A kind that the server serves. */
export interface ServedKind {
  readonly group: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  /** Names below an object, such as `status`. */
  readonly subresources: readonly string[];
}

const servedVerbs: readonly string[] = storedVerbs;

/**
 * What the requester probably meant where a request names something that the server does not serve: the same resource in another group, a
 * similar word, another subresource, or a similar verb. Empty where it is served, for paths, wildcards and verbs that are not the API's own.
 */
export function likelyMeant(attributes: Attributes, kinds: readonly ServedKind[]): readonly NearMiss[] {
  const { verb, resource, group, subresource, path } = attributes;
  if (path !== undefined || resource === "*" || group === "*" || resource === "") return [];
  const here = kinds.find((kind) => kind.plural === resource && kind.group === group);
  // Rules with other verbs, such as approve, name resources that no server serves, such as signers.
  if (!servedVerbs.includes(verb))
    return here === undefined ? bareSigners(attributes) : (csrDecision(attributes) ?? nearVerb(verb));
  return here === undefined ? nearKind(attributes, kinds) : nearPart(subresource, here);
}

function nearPart(subresource: string, kind: ServedKind): readonly NearMiss[] {
  if (subresource === "" || subresource === "*" || kind.subresources.includes(subresource)) return [];
  const near = meant(nearest(subresource, kind.subresources));
  return [{ lacks: "subresource", text: `the server's ${named(kind)} have no part ${quoted(subresource)}${near}` }];
}

function nearKind({ resource, group }: Attributes, kinds: readonly ServedKind[]): readonly NearMiss[] {
  const absent = `the server has no resource ${quoted(named({ plural: resource, group }))}`;
  const same = kinds.filter(({ plural, singular, shortNames }) => [plural, singular, ...shortNames].includes(resource));
  if (same.length > 0) return suggestion(`${absent}${meant(same.slice(0, 3).map(named).join(" or "))}`);
  const words = kinds.flatMap(({ plural, singular }) => [plural, singular]);
  const near = nearest(resource, words);
  const found = kinds.find(({ plural, singular }) => plural === near || singular === near);
  return suggestion(`${absent}${meant(found && named(found))}`);
}

/** Whether a miss means that the word itself is wrong, so that a grant for it would have no effect. */
export function isMistyped({ lacks, binding }: { readonly lacks: string; readonly binding?: unknown }): boolean {
  return lacks === "resource" || (lacks === "verb" && binding === undefined);
}

const csrGroup = "certificates.k8s.io";

/** Deciding on a certificate request is an update of its approval, and requires a right on its signer too. */
function csrDecision({ verb, resource, group }: Attributes): readonly NearMiss[] | undefined {
  if (group !== csrGroup || resource !== "certificatesigningrequests" || !["approve", "deny", "sign"].includes(verb)) {
    return undefined;
  }
  const [part, right] = verb === "sign" ? ["status", "sign"] : ["approval", "approve"];
  return [
    {
      lacks: "verb",
      text: `no request for certificatesigningrequests has the verb ${quoted(verb)}; it takes update of certificatesigningrequests/${part}, and ${right} of signers.${csrGroup}/SIGNER`,
    },
  ];
}

function bareSigners({ resource, group }: Attributes): readonly NearMiss[] {
  return resource === "signers" && group === ""
    ? suggestion(`the resource is in a group; was signers.${csrGroup} meant?`)
    : [];
}

/** A verb that no request has, and that is similar to one of the API's verbs. */
function nearVerb(verb: string): readonly NearMiss[] {
  const near = nearest(verb, servedVerbs);
  return near === undefined
    ? []
    : [{ lacks: "verb", text: `no request for objects has the verb ${quoted(verb)}${meant(near)}` }];
}

function suggestion(text: string): readonly NearMiss[] {
  return [{ lacks: "resource", text }];
}

function meant(word: string | undefined): string {
  return word === undefined ? "" : `; was ${word} meant?`;
}

function named({ plural, group }: Pick<ServedKind, "plural" | "group">): string {
  return group === "" ? plural : `${plural}.${group}`;
}
