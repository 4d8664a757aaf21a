/** Rows on which the two servers differ for one reason. */
export interface Difference {
  readonly why: string;
  /** Ids of rows; `*` stands for every subject that has such a row, `* but a b` for all others than these. */
  readonly rows: readonly string[];
}

/** Every row on which the hub and kube-apiserver 1.36.3 are known to differ. */
export const differences: readonly Difference[] = [
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
    why: "RFC 6902: what is copied or replaced must exist; kube-apiserver copies a null, and adds what it cannot replace.",
    rows: [
      "*: json patch with a copy from a missing path",
      "namespaces: json patch with a replacement of what is not there",
    ],
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
    why: "kube-apiserver prints a Go structure; the hub lists the headers that were sent.",
    rows: ["identity: a group without a user"],
  },
  {
    why: "The hub validates what every reader of pods and nodes relies on, but no networks and mounts.",
    rows: ["nodes: create with a bad network", "pods: create with a mount of a volume that is missing"],
  },
  {
    why: "The hub leaves out the difference of two Go structures that follows.",
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
    why: "The hub validates finalizers of Events like those of all other objects.",
    rows: ["events: create with a bad finalizer", "events: create with a finalizer without a domain"],
  },
  {
    why: "Custom objects have no protobuf: 415 (section 3 of the contract); kube-apiserver ends the connection without an answer.",
    rows: ["things: create with invalid protobuf"],
  },
  {
    why: "The hub quotes `{}` where a custom object is null.",
    rows: ["things: create with null"],
  },
  {
    why: "The hub parses paths of custom objects like those of built-in kinds; kube-apiserver parses them in a second place, which ignores what follows a name or a subresource.",
    rows: [
      "things: create with no namespace",
      "things: get as a list of metadata",
      "things: create at a name",
      "things: get below a subresource",
    ],
  },
  {
    why: "The hub looks at the kind of a custom object first; kube-apiserver misses its version first.",
    rows: ["things: replace with another kind"],
  },
  {
    why: "The hub reports one fault of a definition once.",
    rows: ["customresourcedefinitions: create with unknown fields for all"],
  },
  {
    why: "Addresses and versions are each server's own.",
    rows: ["paths: GET /api", "paths: GET /api/", "paths: GET /version/"],
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
