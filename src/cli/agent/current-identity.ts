import { ignoreReasons } from "../../client/api-errors.ts";
import { createHash } from "node:crypto";
import type { UserInfo } from "../../apimachinery/user.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { decodePem } from "../../pki/pem.ts";
import { credentialOf, type Credential } from "../../apis/revocation-index.ts";
import type { ServerAccess } from "../server-access.ts";

const selfSubjectReviews = {
  group: "authentication.k8s.io",
  version: "v1",
  kind: "SelfSubjectReview",
  plural: "selfsubjectreviews",
  scope: "Cluster",
} as const;

/** With what the kubeconfig comes in, as the server sees it and as far as its certificate says it. */
export async function ownCredential({ client, config }: ServerAccess): Promise<Credential> {
  const seen = credentialOf(await whoAmI(client));
  const leaf = config.clientCertPem === undefined ? undefined : decodePem(config.clientCertPem)[0];
  if (leaf === undefined) return seen;
  const { serialNumber, rawIssuer } = parseCertificate(leaf.bytes);
  const id = `X509SHA256=${createHash("sha256").update(leaf.bytes).digest("hex")}`;
  return {
    ...seen,
    ids: [...seen.ids, id],
    serialNumber,
    issuer: createHash("sha256").update(rawIssuer).digest("hex"),
  };
}

/** Servers before 1.28 do not say; what is not known is no user. */
async function whoAmI(client: ServerAccess["client"]): Promise<UserInfo> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", metadata: {} };
  const answer = client.create<typeof review & { readonly status?: { readonly userInfo?: UserInfo } }>(
    selfSubjectReviews,
    review,
  );
  const { status } = (await ignoreReasons(answer, "NotFound", "Forbidden")) ?? {};
  return status?.userInfo ?? { username: "", groups: [] };
}
