import type { ResolvedKubeconfig } from "../../client/resolve-kubeconfig.ts";
import { readKey, type AccessRequest } from "../../apis/access-request.ts";
import { certificatesOfBundle } from "../../trust/pins.ts";
import { pairingWords } from "../../trust/pairing-words.ts";

/**
 * The six words that the machine must show, once for each CA of the approver's kubeconfig: from the key that the API holds and the CA
 * that the approver trusts, nothing of it from the machine. Empty where the kubeconfig names no CA or the request has no key.
 * @throws PinError
 */
export async function approverWords(
  request: AccessRequest,
  { caPem }: Pick<ResolvedKubeconfig, "caPem">,
): Promise<readonly (readonly string[])[]> {
  const key = readKey(request);
  const { name = "", uid = "" } = request.metadata;
  if (key === undefined || caPem === undefined) return [];
  const pins = new Set(certificatesOfBundle(caPem).map(({ pin }) => pin));
  return Promise.all([...pins].map((caPin) => pairingWords({ name, uid, fingerprint: key.fingerprint, caPin })));
}
