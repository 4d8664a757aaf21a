import type { RandomBytes } from "../apimachinery/clock.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { kubeletClientUser } from "../authorization/bootstrap-policy/component-roles.ts";
import type { Credential } from "../apis/revocation-index.ts";
import { certificateTimes, isDue, issueOwn, type KeyPair } from "../ca/hub-certificates.ts";
import type { Authorities } from "../ca/ca-folder.ts";

/**
 * The client certificate with which the hub asks kubelets, as kubeadm makes it: a user in no group, whose rights are those of the
 * ClusterRole system:kubelet-api-admin. It is made when it is first needed, renewed in time and for another CA, and never written down.
 */
export function kubeletCredential(
  authorities: () => Authorities,
  at: { readonly now: () => number; readonly random: RandomBytes },
): () => KeyPair {
  let held: { readonly of: Authorities; readonly pair: KeyPair } | undefined;
  return () => {
    const of = authorities();
    const isGood =
      held?.of === of && !isDue(certificateTimes(held.pair.certPem), at.now(), of.signer.notAfter) ? held : undefined;
    if (isGood !== undefined) return isGood.pair;
    const wanted = { commonName: kubeletClientUser, organizations: [], dnsNames: [], ipAddresses: [] };
    const { certPem, keyPem } = issueOwn(
      of.signer,
      { ...wanted, usage: "client auth" },
      { now: at.now(), random: at.random },
    );
    // Behind it, so that a kubelet that trusts the CA before alone can follow.
    held = { of, pair: { certPem: `${certPem}${of.chainPem}`, keyPem } };
    return held.pair;
  };
}

/**
 * Whether a request comes with the hub's own certificate for kubelets. A hub that finds it has been led to itself, or to another hub, by
 * the address of a Node; it must not do there what the sender may not.
 */
export function isKubeletCredential({
  user,
  credential,
}: {
  readonly user: UserInfo;
  readonly credential?: Credential;
}): boolean {
  return user.username === kubeletClientUser && credential?.serialNumber !== undefined;
}
