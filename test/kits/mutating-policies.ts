// Policies that mutate and what is written under them, for the hub alone and beside kube-apiserver.

/** One policy in force, and one object that is written under it. */
export interface MutationCase {
  /** Of the policy `shapes`, beside what it matches. */
  readonly spec: object;
  /** Of its binding; nothing where absent. */
  readonly binding?: object;
  /** The objects that stand before, by their path. */
  readonly before?: Readonly<Record<string, object>>;
  /** What is written with POST; a ConfigMap where it has no kind. */
  readonly object: object;
  /** Written under `pods`, and not `configmaps`. */
  readonly pods?: boolean;
}

/** What creates and updates of ConfigMaps and Pods match. */
export const shapedRule: {
  readonly operations: readonly string[];
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
} = {
  operations: ["CREATE", "UPDATE"],
  apiGroups: [""],
  apiVersions: ["v1"],
  resources: ["configmaps", "pods"],
};

/** A mutation by an apply configuration. */
export function applied(expression: string): object {
  return { patchType: "ApplyConfiguration", applyConfiguration: { expression } };
}

/** A mutation by a JSON patch. */
export function jsonPatched(expression: string): object {
  return { patchType: "JSONPatch", jsonPatch: { expression } };
}

const named = (name: string, more: object = {}): object => ({ metadata: { name }, ...more });
const labelled = (label: string): object => applied(`Object{metadata: Object.metadata{labels: {"${label}": "yes"}}}`);
const pod = (more: object = {}): object => named("p", { spec: { containers: [{ name: "c", image: "i:1", ...more }] } });

/** The body of the policy `shapes`. */
export function policyOf(spec: object): object {
  return {
    metadata: { name: "shapes" },
    spec: { matchConstraints: { resourceRules: [shapedRule] }, reinvocationPolicy: "Never", ...spec },
  };
}

/** The body of its binding. */
export function bindingOf(spec: object = {}): object {
  return { metadata: { name: "bound" }, spec: { policyName: "shapes", ...spec } };
}

/** What mutates, and what cannot. */
export const mutationCases: Readonly<Record<string, MutationCase>> = {
  "an apply configuration adds fields and keeps the others": {
    spec: {
      mutations: [applied("Object{metadata: Object.metadata{labels: {'a': 'b'}}, data: {'k': object.data.k + '!'}}")],
    },
    object: { metadata: { name: "m", labels: { own: "1" } }, data: { k: "v", l: "w" } },
  },
  "an apply configuration merges lists by their keys": {
    spec: {
      mutations: [
        applied(`Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{
          name: c.name, env: [Object.spec.containers.env{name: "ADDED", value: c.image}]})}}`),
      ],
    },
    pods: true,
    object: pod({ env: [{ name: "KEPT", value: "1" }] }),
  },
  "a JSON patch adds, copies, moves, tests and removes": {
    spec: {
      mutations: [
        jsonPatched(`[
          JSONPatch{op: "test", path: "/data/a", value: "1"},
          JSONPatch{op: "add", path: "/data/b", value: string(size(object.data))},
          JSONPatch{op: "copy", from: "/data/a", path: "/data/c"},
          JSONPatch{op: "move", from: "/data/d", path: "/data/e"},
          JSONPatch{op: "add", path: "/metadata/labels", value: {}},
          JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/x"), value: "y"},
          JSONPatch{op: "remove", path: "/data/f"}]`),
      ],
    },
    object: named("m", { data: { a: "1", d: "2", f: "3" } }),
  },
  "a JSON patch adds objects that the expression makes": {
    spec: {
      mutations: [
        jsonPatched(`[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{
          name: "side", image: "side:1", ports: [Object.spec.containers.ports{containerPort: 80}]}}]`),
      ],
    },
    pods: true,
    object: pod(),
  },
  "a JSON patch whose test does not hold changes nothing": {
    spec: {
      mutations: [
        jsonPatched(`[JSONPatch{op: "test", path: "/data/a", value: "2"}, JSONPatch{op: "remove", path: "/data/a"}]`),
        applied("Object{data: {'after': 'yes'}}"),
      ],
    },
    object: named("m", { data: { a: "1" } }),
  },
  "mutations see what those before have changed, in variables too": {
    spec: {
      variables: [{ name: "count", expression: "string(size(object.data))" }],
      mutations: [
        applied("Object{data: {'first': variables.count}}"),
        jsonPatched("[JSONPatch{op: 'add', path: '/data/second', value: variables.count}]"),
      ],
    },
    object: named("m", { data: { a: "1" } }),
  },
  "a policy that is not reinvoked mutates once": {
    spec: { mutations: [applied("Object{data: {'n': object.data.n + 'x'}}")] },
    object: named("m", { data: { n: "" } }),
  },
  "a policy that is reinvoked if needed mutates again after itself": {
    spec: { mutations: [applied("Object{data: {'n': object.data.n + 'x'}}")], reinvocationPolicy: "IfNeeded" },
    object: named("m", { data: { n: "" } }),
  },
  "a condition that does not hold leaves the object alone": {
    spec: {
      matchConditions: [{ name: "c", expression: "object.metadata.name == 'other'" }],
      mutations: [labelled("a")],
    },
    object: named("m"),
  },
  "a condition that fails refuses": {
    spec: { matchConditions: [{ name: "c", expression: "object.data.none == 'x'" }], mutations: [labelled("a")] },
    object: named("m", { data: { a: "1" } }),
  },
  "a condition that fails is passed over with failurePolicy Ignore": {
    spec: {
      failurePolicy: "Ignore",
      matchConditions: [{ name: "c", expression: "object.metadata.none == 'x'" }],
      mutations: [labelled("a")],
    },
    object: named("m"),
  },
  "a binding narrows its policy": {
    spec: { mutations: [labelled("a")] },
    binding: { matchResources: { objectSelector: { matchLabels: { shaped: "yes" } } } },
    object: named("m"),
  },
  "parameters come from the object that the binding names": {
    spec: {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      matchConditions: [{ name: "not-itself", expression: "object.metadata.name != 'params'" }],
      mutations: [applied("Object{data: {'from': params.data.value}}")],
    },
    binding: { paramRef: { name: "params", parameterNotFoundAction: "Deny" } },
    before: { configmaps: named("params", { data: { value: "there" } }) },
    object: named("m"),
  },
  "parameters that are missing refuse": {
    spec: { paramKind: { apiVersion: "v1", kind: "ConfigMap" }, mutations: [labelled("a")] },
    binding: { paramRef: { name: "missing", parameterNotFoundAction: "Deny" } },
    object: named("m"),
  },
  "an expression that fails refuses, after the other mutations were tried": {
    spec: {
      mutations: [
        applied("Object{data: {'x': object.data.none}}"),
        jsonPatched("[JSONPatch{op: 'add', path: 'none'}]"),
      ],
    },
    object: named("m", { data: { a: "1" } }),
  },
  "an expression that fails is passed over with failurePolicy Ignore, and the others mutate": {
    spec: { failurePolicy: "Ignore", mutations: [applied("Object{data: {'x': object.data.none}}"), labelled("a")] },
    object: named("m", { data: { a: "1" } }),
  },
  "an object that is not named after its field refuses": {
    spec: { mutations: [applied("Object{metadata: Object.metadatas{labels: {'a': 'b'}}}")] },
    object: named("m"),
  },
  "a field that the kind does not have refuses": {
    spec: { mutations: [applied("Object{metadata: Object.metadata{nothing: 'b'}}")] },
    object: named("m"),
  },
  "a value of another type refuses": {
    spec: { mutations: [applied("Object{metadata: Object.metadata{labels: {'a': ['b']}}}")] },
    object: named("m"),
  },
  "an apply configuration of what is replaced as a whole refuses": {
    spec: {
      mutations: [applied("Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', args: ['-x']}]}}")],
    },
    pods: true,
    object: pod(),
  },
  "a JSON patch with a field that the kind does not have is an error, whatever failurePolicy says": {
    spec: {
      failurePolicy: "Ignore",
      mutations: [jsonPatched("[JSONPatch{op: 'add', path: '/metadata/nothing', value: 'x'}]")],
    },
    object: named("m"),
  },
  "a JSON patch of another type is an error": {
    spec: { mutations: [jsonPatched("[JSONPatch{op: 'add', path: '/metadata/labels', value: ['x']}]")] },
    object: named("m"),
  },
  "what mutations make is validated as what clients send": {
    spec: { mutations: [applied("Object{metadata: Object.metadata{labels: {'a b': 'c'}}}")] },
    object: named("m"),
  },
};

const policySpec = (mutation: object, more: object = {}): object => policyOf({ mutations: [mutation], ...more });

/** Policies that are refused when they are written. */
export const refusedPolicies: Readonly<Record<string, object>> = {
  "without anything": { metadata: { name: "shapes" }, spec: {} },
  "with a mutation of no type": policySpec({}),
  "with a mutation of an unknown type": policySpec({ patchType: "Merge" }),
  "with a mutation without its expression": policySpec({ patchType: "JSONPatch" }),
  "with an empty expression": policySpec(applied(" ")),
  "with two expressions in a mutation": policySpec({ ...applied("Object{}"), jsonPatch: { expression: "[]" } }),
  "with an expression of another type": policySpec(applied("'text'")),
  "with an apply configuration of a part": policySpec(applied("Object.spec{}")),
  "with a JSON patch that is no list": policySpec(jsonPatched("JSONPatch{}")),
  "with a JSON patch of a list of texts": policySpec(jsonPatched("['text']")),
  "with an operation of wrong types": policySpec(jsonPatched("[JSONPatch{op: 1}]")),
  "with a type that is none": policySpec(applied("Objects{}")),
  "with types of patches in a condition": policySpec(applied("Object{}"), {
    matchConditions: [{ name: "c", expression: "Object{} == Object{}" }],
  }),
  "with types of patches in a variable": policySpec(applied("Object{}"), {
    variables: [{ name: "v", expression: "Object{}" }],
  }),
  "with an unknown reinvocationPolicy": policySpec(applied("Object{}"), { reinvocationPolicy: "Always" }),
  "for deletions": policySpec(applied("Object{}"), {
    matchConstraints: { resourceRules: [{ ...shapedRule, operations: ["CREATE", "DELETE"] }] },
  }),
};

/** Bindings that are refused when they are written. */
export const refusedBindings: Readonly<Record<string, object>> = {
  "without a policy": { metadata: { name: "bound" }, spec: {} },
  "for deletions": bindingOf({ matchResources: { resourceRules: [{ ...shapedRule, operations: ["DELETE"] }] } }),
  "with a name and a selector of parameters": bindingOf({
    paramRef: { name: "a", selector: {}, parameterNotFoundAction: "Deny" },
  }),
};
