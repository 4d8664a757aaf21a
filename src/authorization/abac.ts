import { authenticatedGroup, type UserInfo } from "../apimachinery/user.ts";
import { isFields, stringAt, isTrueAt, fieldsAt, type Fields } from "../apis/json-fields.ts";
import type { Attributes, Decision, NamedAuthorizer } from "./authorizer.ts";
import { pathCovers } from "./compiled-rules.ts";
import type { MemberRules } from "./rules-review.ts";

/**
 * One line of an ABAC policy file, in the current form. A field that is not set is empty, and `*` matches everything; a policy for all
 * users names the group `system:authenticated`.
 */
export interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
  /** The line in its file, counted from 1. */
  readonly line: number;
}

/** An ABAC policy file that cannot be used; the message begins with `line <n>` where one line is at fault. */
export class AbacError extends Error {
  override readonly name = "AbacError";
  readonly code: "size" | "line";

  constructor(code: AbacError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

const apiVersion = "abac.authorization.kubernetes.io/v1beta1";
const maxCharacters = 16 << 20;
const texts = ["user", "group", "apiGroup", "resource", "namespace", "nonResourcePath"] as const;
const oldTexts = ["user", "group", "resource", "namespace"] as const;

/**
 * The policies of a file: one JSON object on each line, either a Policy object or the older flat form; blank lines and
 * lines that begin with `#` are skipped. Unlike in Kubernetes an unknown field is an error, since a misspelt restriction would allow more.
 * @throws AbacError that names line and field. Source: pkg/auth/authorizer/abac, pkg/apis/abac/v0.
 */
export function parseAbacPolicies(text: string): readonly AbacPolicy[] {
  if (text.length > maxCharacters) throw new AbacError("size", "is larger than 16 MiB");
  return text.split("\n").flatMap((line, index) => {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return [];
    return [policyOf(jsonOf(trimmed, index + 1), index + 1)];
  });
}

/** Allows what a policy of the list matches, and has no opinion on the rest. Source: pkg/auth/authorizer/abac. */
export function abac(policies: readonly AbacPolicy[]): NamedAuthorizer {
  const refused: Decision = { verdict: "noOpinion", reason: "No policy matched." };
  const allowing = policies.map((policy) => ({ policy, decision: { verdict: "allow", reason: "" } as const }));
  const lines = new Map<Decision, number>(allowing.map(({ policy, decision }) => [decision, policy.line]));
  return {
    name: "ABAC",
    authorize: async function abac(attributes) {
      return allowing.find(({ policy }) => matches(policy, attributes))?.decision ?? refused;
    },
    explain: (decision) => {
      const line = lines.get(decision);
      return line === undefined ? {} : { note: `line ${line} of the policy file` };
    },
  };
}

/** The rules of the policies that match the user and the namespace. */
export function abacRules(policies: readonly AbacPolicy[]): MemberRules {
  return function abacRules(user, namespace) {
    const own = policies.filter(
      (policy) => subjectMatches(policy, user) && (policy.namespace === "*" || policy.namespace === namespace),
    );
    return {
      resourceRules: own
        .filter(({ resource }) => resource !== "")
        .map((policy) => ({ verbs: verbsOf(policy), apiGroups: [policy.apiGroup], resources: [policy.resource] })),
      nonResourceRules: own
        .filter(({ nonResourcePath }) => nonResourcePath !== "")
        .map((policy) => ({ verbs: verbsOf(policy), nonResourceURLs: [policy.nonResourcePath] })),
      incomplete: false,
    };
  };
}

const readingVerbs: readonly string[] = ["get", "list", "watch"];

function verbsOf(policy: AbacPolicy): readonly string[] {
  return policy.readonly ? readingVerbs : ["*"];
}

function matches(policy: AbacPolicy, attributes: Attributes): boolean {
  if (!subjectMatches(policy, attributes.user)) return false;
  if (policy.readonly && !readingVerbs.includes(attributes.verb)) return false;
  if (attributes.path !== undefined) return pathCovers(policy.nonResourcePath, attributes.path);
  const { namespace, resource, apiGroup } = policy;
  return (
    (namespace === "*" || namespace === attributes.namespace) &&
    (resource === "*" || resource === attributes.resource) &&
    (apiGroup === "*" || apiGroup === attributes.group)
  );
}

/** Both user and group must match where both are set; a policy with neither matches no user. */
function subjectMatches({ user, group }: AbacPolicy, subject: UserInfo): boolean {
  if (user !== "" && user !== subject.username) return false;
  if (group !== "" && !subject.groups.includes(group)) return false;
  return user !== "" || group !== "";
}

function jsonOf(line: string, number: number): Fields {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // The parser's own message would quote the file.
    throw new AbacError("line", `line ${number}: is not JSON`);
  }
  if (!isFields(value)) throw new AbacError("line", `line ${number}: is not a JSON object`);
  return value;
}

function policyOf(object: Fields, number: number): AbacPolicy {
  const kind = stringAt(object, "kind");
  const version = stringAt(object, "apiVersion");
  if (Object.hasOwn(object, "spec") || version !== "" || kind !== "") {
    if (version !== apiVersion) {
      throw new AbacError("line", `line ${number}: apiVersion: must be ${JSON.stringify(apiVersion)}`);
    }
    if (kind !== "Policy") throw new AbacError("line", `line ${number}: kind: must be "Policy"`);
    check(object, number, { at: "", texts: ["kind", "apiVersion"], flags: [], objects: ["spec", "metadata"] });
    const spec = fieldsAt(object, "spec");
    check(spec, number, { at: "spec.", texts, flags: ["readonly"], objects: [] });
    return { ...currentForm(spec, number), line: number };
  }
  check(object, number, { at: "", texts: [...oldTexts, "kind", "apiVersion"], flags: ["readonly"], objects: [] });
  return { ...oldForm(object), line: number };
}

function currentForm(spec: Fields, number: number): Omit<AbacPolicy, "line"> {
  const written = textsAt(spec, texts);
  const { user, group } = written;
  if (user === "" && group === "") throw new AbacError("line", `line ${number}: spec.user: user or group must be set`);
  return { ...written, ...(user === "*" || group === "*" ? everybody : {}), readonly: isTrueAt(spec, "readonly") };
}

/** All authenticated users: in neither form does an asterisk match an anonymous user. Source: pkg/apis/abac conversion. */
const everybody = { user: "", group: authenticatedGroup };

/** In the old form an absent field matches everything. */
function oldForm(object: Fields): Omit<AbacPolicy, "line"> {
  const { user, group, resource, namespace } = textsAt(object, oldTexts);
  const isForAll = (user === "" && group === "") || user === "*" || group === "*";
  return {
    ...(isForAll ? everybody : { user, group }),
    readonly: isTrueAt(object, "readonly"),
    apiGroup: "*",
    resource: resource || "*",
    namespace: namespace || "*",
    nonResourcePath: namespace === "" && resource === "" ? "*" : "",
  };
}

function textsAt<Name extends string>(object: Fields, names: readonly Name[]): Readonly<Record<Name, string>> {
  return Object.fromEntries(names.map((name) => [name, stringAt(object, name)])) as Record<Name, string>;
}

interface Shape {
  readonly at: string;
  readonly texts: readonly string[];
  readonly flags: readonly string[];
  readonly objects: readonly string[];
}

function check(object: Fields, number: number, shape: Shape): void {
  for (const [field, value] of Object.entries(object)) {
    const wrong = problemOf(field, value, shape);
    if (wrong !== undefined) throw new AbacError("line", `line ${number}: ${shape.at}${field}: ${wrong}`);
  }
}

function problemOf(field: string, value: unknown, shape: Shape): string | undefined {
  if (shape.texts.includes(field)) return typeof value === "string" ? undefined : "must be a string";
  if (shape.flags.includes(field)) return typeof value === "boolean" ? undefined : "must be true or false";
  if (shape.objects.includes(field)) return isFields(value) ? undefined : "must be an object";
  return "is not a field of a policy";
}
