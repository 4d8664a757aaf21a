/** Rows on which the two servers differ for one reason. */
export interface Difference {
  readonly why: string;
  /** Ids of rows; `*` stands for every subject that has such a row, `* but a b` for all others than these. */
  readonly rows: readonly string[];
}

/** Every row on which the hub and kube-apiserver 1.20.2 are known to differ. */
export const differences: readonly Difference[] = [
  {
    why: "The hub answers 400 BadRequest like Kubernetes 1.36; 1.20 answers 500 without a reason.",
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
      "*: list with an invalid version",
      "identity: a group without a user",
    ],
  },
  {
    why: "The hub answers 400 BadRequest like Kubernetes 1.36; 1.20 answers 422.",
    rows: ["*: merge patch with a list"],
  },
  {
    why: "The hub uses the wording of 1.36, which differs from that of 1.20 (lengths in bytes, owners with their kind, what a selector may contain).",
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
    why: "Node's parser rejects methods that HTTP does not list, before the hub sees the request.",
    rows: ["*: an unknown method", "*: an unknown method, on all"],
  },
  {
    why: "kube-apiserver quotes the whole object, also to users who may patch but not read it; the hub quotes the patch alone.",
    rows: [
      "*: json patch with a number as name",
      "*: merge patch with a new kind",
      "*: merge patch with a new apiVersion",
      "*: merge patch with a number as label",
      "*: merge patch with a list as metadata",
    ],
  },
  {
    why: "kube-apiserver prints the patch as a Go map; the hub prints the JSON that the client sent.",
    rows: [
      "* but things: strategic patch with a number as label",
      "* but things: strategic patch with a list as metadata",
    ],
  },
  {
    why: "A malformed patch is 400 (section 6.1 of the contract); kube-apiserver answers 500 to this one.",
    rows: ["* but things: strategic patch with an unknown directive"],
  },
  {
    why: "Faults of 1.20 that 1.36 no longer has: it stores a directive as a label, and adds what a patch removes.",
    rows: [
      "* but things: strategic patch with a directive to replace labels",
      "* but things: strategic patch with a removal from a list",
    ],
  },
  {
    why: "RFC 6902: the source of a copy must exist; kube-apiserver copies a null.",
    rows: ["*: json patch with a copy from a missing path"],
  },
  {
    why: "The hub names the line of an error in YAML; kube-apiserver adds what its parser expected.",
    rows: ["*: create with broken YAML"],
  },
  {
    why: "The hub accepts a wildcard such as `application/*` (RFC 9110, section 12.5.1).",
    rows: ["* but things: get as any application", "* but things: list as any application"],
  },
  {
    why: "A watch from an invalid version is 400 (section 5.2 of the contract); kube-apiserver answers so for events alone, and 500 without a reason for all else.",
    rows: ["*: list with a watch from an invalid version"],
  },
  {
    why: "The hub quotes neither bodies of Secrets nor the faults in them, since messages are logged.",
    rows: [
      "secrets: create with an invalid apiVersion",
      "secrets: create with a number as kind",
      "secrets: create with a docker type with text",
      "secrets: replace with broken JSON",
    ],
  },
  {
    why: "The hub does not quote a certificate request, and says what is wrong with it.",
    rows: [
      "certificatesigningrequests: create with no request",
      "certificatesigningrequests: create with a request that is not PEM",
    ],
  },
  {
    why: "The hub does not return the token of a TokenReview.",
    rows: ["reviews: ask about an unknown token", "reviews: ask about an unknown bootstrap token"],
  },
  {
    why: "1.36 puts the name of a namespace into a label, and so does the hub; the label is validated as well.",
    rows: [
      "namespaces: create with a name with a slash",
      "namespaces: create with a name of two dots",
      "namespaces: create with a name with a percent sign",
      "namespaces: create with a long name",
    ],
  },
  {
    why: "No pods run on a hub: it validates what every reader of pods and nodes relies on, but no networks and mounts.",
    rows: ["nodes: create with a bad network", "pods: create with a mount of a volume that is missing"],
  },
  {
    why: "1.36 has one more field that may change; the hub leaves out the difference of two Go structures that follows in both releases.",
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
    why: "The hub has the columns of 1.36, which differ from those of 1.20 in number or type.",
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
    why: "The hub validates finalizers of Events like those of all other objects.",
    rows: ["events: create with a bad finalizer", "events: create with a finalizer without a domain"],
  },
  {
    why: "The hub has the types of causes of 1.36 for values of schemas (FieldValueTypeInvalid, FieldValueTooLong, FieldValueTooMany, FieldValueRequired), and its wording for lengths.",
    rows: [
      "things: create with a size as text",
      "things: create with a size with a fraction",
      "things: create with a long word",
      "things: create with a number as a word",
      "things: create with an invalid time",
      "things: create with either as an object",
      "things: create with too many parts",
      "things: create with two parts of one name",
      "things: create with a part without name",
      "things: create with tags as text",
    ],
  },
  {
    why: "Custom objects have no protobuf: 415 (section 3 of the contract).",
    rows: ["things: create with invalid protobuf"],
  },
  {
    why: "The hub parses paths of custom objects like those of built-in kinds; kube-apiserver parses them in a second place, which ignores what follows a name or a subresource.",
    rows: [
      "things: create with no namespace",
      "things: replace with another kind",
      "things: get as a list of metadata",
      "things: create at a name",
      "things: get below a subresource",
    ],
  },
  {
    why: "The hub reports one fault of a definition once.",
    rows: ["customresourcedefinitions: create with unknown fields for all"],
  },
  {
    why: "Addresses and versions are each server's own; 1.36 has singular names in discovery, and no beta versions of these groups.",
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
    why: "The hub answers an unknown path with a Status, and an unknown health check with the text of 1.36; 1.20 answers 404 with a list of all paths.",
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
    why: "The hub treats repeated slashes as one.",
    rows: ["paths: GET //api//v1//namespaces//default"],
  },
  {
    why: "Discovery and health are read-only; kube-apiserver answers any method as if it were GET.",
    rows: ["paths: POST /apis", "paths: POST /healthz"],
  },
  {
    why: "The hub sends 406 with a Status, as everywhere; kube-apiserver sends no body here.",
    rows: ["paths: the specification as CSV"],
  },
];
