import type { ObjectSchema } from "../../core/schema.ts";
import { kind } from "./kind.ts";
import {
  about,
  atomic,
  byKey,
  bytes,
  described,
  extraMap,
  int32,
  list,
  object,
  pointer,
  required,
  str,
  strings,
  time,
} from "./shorthand.ts";

// Certificate signing requests. Source: k8s.io/api certificates/v1.

export const certificateSigningRequestSpec: ObjectSchema = described(
  "io.k8s.api.certificates.v1.CertificateSigningRequestSpec",
  "What is asked for, and by whom.",
  {
    request: about("The PEM-encoded PKCS#10 request, in base64.", required(bytes(1))),
    username: about("Who made the request; set by the server.", str(2)),
    uid: about("UID of the requester; set by the server.", str(3)),
    groups: about("Groups of the requester; set by the server.", strings(4, atomic)),
    usages: about("Key usages the certificate should have.", strings(5, atomic)),
    extra: about("Extra attributes of the requester; set by the server.", extraMap(6)),
    signerName: about("Who is to sign, such as kubernetes.io/kube-apiserver-client-kubelet.", required(str(7))),
    expirationSeconds: about(
      "How long the certificate should hold, at least 600 seconds; the signer may give less.",
      pointer(int32(8)),
    ),
  },
);

export const certificateSigningRequestCondition: ObjectSchema = described(
  "io.k8s.api.certificates.v1.CertificateSigningRequestCondition",
  "One statement about a request.",
  {
    type: about("Approved, Denied, Failed or another.", required(str(1))),
    reason: about("A short word for why.", str(2)),
    message: about("Why, for people.", str(3)),
    lastUpdateTime: about("When the condition was last written.", time(4)),
    lastTransitionTime: about("When the status last changed.", time(5)),
    status: about("True, False or Unknown; Approved, Denied and Failed are only ever True.", required(str(6))),
  },
);

export const certificateSigningRequestStatus: ObjectSchema = described(
  "io.k8s.api.certificates.v1.CertificateSigningRequestStatus",
  "The decision on a request, and its result.",
  {
    conditions: about("Approved, Denied or Failed.", list(1, certificateSigningRequestCondition, byKey("type"))),
    certificate: about("The issued chain, PEM, in base64; leaf first.", bytes(2)),
  },
);

export const certificateSigningRequestSchema: ObjectSchema = kind(
  "io.k8s.api.certificates.v1.CertificateSigningRequest",
  "A request for an X.509 certificate, addressed to a signer and decided by an approver.",
  {
    spec: about(
      "The request and who made it; cannot change after creation.",
      required(object(2, certificateSigningRequestSpec)),
    ),
    status: about(
      "What was decided, and the certificate once it is issued.",
      object(3, certificateSigningRequestStatus),
    ),
  },
);
