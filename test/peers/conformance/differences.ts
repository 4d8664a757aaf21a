/** Rows on which the two servers differ for one reason. */
export interface Difference {
  readonly why: string;
  /** Ids of rows; `*` stands for every subject that has such a row, `* but a b` for all others than these. */
  readonly rows: readonly string[];
}

/** Every row on which the hub and kube-apiserver 1.20.2 are known to differ. */
export const differences: readonly Difference[] = [
  {
    why: "Kubernetes 1.36 answers 400 BadRequest, and so does the hub; 1.20 answered 500 without a reason.",
    rows: [
      "*: apply patch with another kind",
      "*: apply patch with no kind",
      "*: patch with broken JSON to merge",
      "*: patch with nothing to merge",
      "*: merge patch with null",
      "*: merge patch with text",
      "*: delete with options of another kind",
      "*: delete with broken JSON",
      "*: delete with a policy as a number",
      "*: delete with a grace as text",
      "*: list with a version that is none",
      "identity: a group of nobody",
    ],
  },
  {
    why: "Kubernetes 1.36 answers 400 BadRequest, and so does the hub; 1.20 answered 422.",
    rows: ["*: merge patch with a list"],
  },
  {
    why: "Reworded since 1.20; the hub has the words of 1.36 (lengths in bytes, owners with their kind, what a selector may hold).",
    rows: [
      "*: create with a long label value",
      "*: create with two controllers",
      "*: list with a bad key in a label selector",
      "*: list with an unknown operator in a label selector",
      "leases: create with negative transitions",
      "secrets: create with basic auth without a name",
      "secrets: create with ssh auth without a key",
      "things: create with no kind and no apiVersion",
      "things: create with an empty object",
      "things: create with null",
      "things: create with metadata as text",
      "customresourcedefinitions: create with a default of another type",
    ],
  },
  {
    why: "Node's parser refuses methods that HTTP does not list, before the hub sees the request.",
    rows: ["*: a method that nobody knows", "*: a method that nobody knows, on all"],
  },
  {
    why: "kube-apiserver quotes the whole object, which who may patch it need not be allowed to read; the hub quotes the patch alone.",
    rows: [
      "*: json patch with a number as name",
      "*: merge patch with a new kind",
      "*: merge patch with a new apiVersion",
      "*: merge patch with a number as label",
      "*: merge patch with a list as metadata",
    ],
  },
  {
    why: "kube-apiserver shows the patch as Go prints a map; the hub shows the JSON that was sent.",
    rows: [
      "* but things: strategic patch with a number as label",
      "* but things: strategic patch with a list as metadata",
    ],
  },
  {
    why: "A malformed patch is 400 (section 6.1 of the contract); kube-apiserver answers 500 to this one.",
    rows: ["* but things: strategic patch with a directive that nobody knows"],
  },
  {
    why: "Faults of 1.20 that 1.36 no longer has: it kept a directive as if it were a label, and added what a patch removes.",
    rows: [
      "* but things: strategic patch with a directive to replace labels",
      "* but things: strategic patch with a removal from a list",
    ],
  },
  {
    why: "RFC 6902: the place that a copy is from must exist; kube-apiserver copies a null.",
    rows: ["*: json patch with a copy from nowhere"],
  },
  {
    why: "What is wrong with YAML is told by line; kube-apiserver adds what its parser was looking for.",
    rows: ["*: create with broken YAML"],
  },
  {
    why: "A wildcard such as `application/*` is accepted (RFC 9110, section 12.5.1).",
    rows: ["* but things: get as any application", "* but things: list as any application"],
  },
  {
    why: "A watch from a version that is none is 400 (section 5.2 of the contract); kube-apiserver does so for events alone, and answers 500 without a reason for all else.",
    rows: ["*: list with a watch from a version that is none"],
  },
  {
    why: "Bodies of Secrets, and what is wrong inside of them, are not quoted: messages are logged.",
    rows: [
      "secrets: create with an apiVersion that is none",
      "secrets: create with a number as kind",
      "secrets: create with a docker type with text",
      "secrets: replace with broken JSON",
    ],
  },
  {
    why: "A certificate request is not quoted, and the hub says what is wrong with it.",
    rows: [
      "certificatesigningrequests: create with no request",
      "certificatesigningrequests: create with a request that is no PEM",
    ],
  },
  {
    why: "A token is not sent back to who asks about it.",
    rows: ["reviews: ask about a token that nobody knows", "reviews: ask about a bootstrap token that nobody knows"],
  },
  {
    why: "1.36 puts the name of a namespace into a label, and so does the hub; the label is checked as well.",
    rows: [
      "namespaces: create with a name with a slash",
      "namespaces: create with a name of two dots",
      "namespaces: create with a name with a percent sign",
      "namespaces: create with a long name",
    ],
  },
  {
    why: "Pods run nowhere on a hub: it checks what every reader of pods and nodes relies on, and leaves networks and mounts to who runs them.",
    rows: ["nodes: create with a bad network", "pods: create with a mount of a volume that is missing"],
  },
  {
    why: "1.36 has one more field that may change; the hub leaves out the difference of two structures of Go that follows in both releases.",
    rows: [
      "pods: replace with itself",
      "pods: replace with a change",
      "pods: replace with its own version",
      "pods: replace with version 0",
      "pods: replace with a bad label",
      "pods: replace with a finalizer",
      "pods: replace with dryRun",
    ],
  },
  {
    why: "Columns of 1.36, which differ from those of 1.20 in their number or type.",
    rows: [
      "pods: create with a reply as a table",
      "certificatesigningrequests: create with a reply as a table",
      "pods: get as a table",
      "pods: list as a table",
      "pods: get as an old table",
      "pods: list as an old table",
    ],
  },
  {
    why: "Finalizers of events are checked like those of all other objects.",
    rows: ["events: create with a bad finalizer", "events: create with a finalizer without a domain"],
  },
  {
    why: "Types of causes that 1.36 has for values of schemas (FieldValueTypeInvalid, FieldValueTooLong, FieldValueTooMany, FieldValueRequired), and its words for lengths.",
    rows: [
      "things: create with a size as text",
      "things: create with a size with a fraction",
      "things: create with a long word",
      "things: create with a number as a word",
      "things: create with a time that is no time",
      "things: create with either as an object",
      "things: create with too many parts",
      "things: create with two parts of one name",
      "things: create with a part without name",
      "things: create with tags as text",
    ],
  },
  {
    why: "Custom objects have no protobuf: 415 (section 3 of the contract).",
    rows: ["things: create with protobuf that is none"],
  },
  {
    why: "Paths of custom objects are read as those of built-in kinds are; kube-apiserver reads them in a second place, which overlooks what follows a name or a subresource.",
    rows: [
      "things: create with no namespace",
      "things: replace with another kind",
      "things: get as a list of metadata",
      "things: create at a name",
      "things: get below a subresource",
    ],
  },
  {
    why: "One fault of a definition is told once.",
    rows: ["customresourcedefinitions: create with unknown fields for all"],
  },
  {
    why: "Addresses and versions are each server's own; 1.36 has no beta versions of these groups, and singular names in discovery.",
    rows: [
      "paths: GET /api",
      "paths: GET /api/",
      "paths: GET /apis/rbac.authorization.k8s.io",
      "paths: GET /apis/coordination.k8s.io",
      "paths: GET /apis/coordination.k8s.io/v1",
      "paths: GET /apis/certificates.k8s.io/v1",
      "paths: GET /version/",
      "paths: a group as YAML",
    ],
  },
  {
    why: "An unknown path is a Status; 1.20 answered 404 with a list of all paths, which 1.36 no longer does.",
    rows: [
      "paths: GET /none",
      "paths: GET /none/at/all",
      "paths: POST /none",
      "paths: GET /healthz/none",
      "paths: GET /livez/none",
      "paths: GET /openapi/none",
      "paths: GET /openid/v1/none",
      "paths: GET /openid/none",
      "paths: GET /.well-known/none",
      "paths: GET /metrics/none",
    ],
  },
  {
    why: "Slashes that stand twice are one.",
    rows: ["paths: GET //api//v1//namespaces//default"],
  },
  {
    why: "Discovery and health are only read; kube-apiserver answers any method as if it were GET.",
    rows: ["paths: POST /apis", "paths: POST /healthz"],
  },
  {
    why: "406 comes with a Status, as everywhere; kube-apiserver sends nothing with it here.",
    rows: ["paths: the specification as CSV"],
  },
];
