/** The life of a certificate, in milliseconds since the epoch. */
export interface CertificateLife {
  readonly notBefore: number;
  readonly notAfter: number;
}

const minLeft = 0.2;
const spreadLeft = 0.05;

/**
 * When to renew a certificate: once 20 to 25 % of its life are left; `spread` in [0, 1) says where between. Certificates begin some
 * minutes before they are issued, so one of a few minutes may be past that when it comes: then what was left at `receivedAt` counts as its
 * life, lest the agent asks without end. @see open-cluster-management.io/ocm pkg/registration/register/csr
 */
export function renewalDue({ notBefore, notAfter }: CertificateLife, spread: number, receivedAt: number): number {
  const left = minLeft + spreadLeft * spread;
  const due = Math.floor(notAfter - (notAfter - notBefore) * left);
  return due > receivedAt ? due : Math.floor(notAfter - Math.max(0, notAfter - receivedAt) * left);
}
