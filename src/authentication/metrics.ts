import type { Authenticated } from "./authenticated.ts";
import type { RequestFacts } from "./authenticator.ts";
import { parseCertificate } from "../pki/parse-certificate.ts";
import { counter, decisions, histogram } from "../metrics/family.ts";

type Authenticate = (facts: RequestFacts) => Promise<Authenticated>;

/** Counters of authentication. */
export interface AuthenticationMetrics {
  /** The same authentication, counted. */
  readonly counted: (authenticate: Authenticate) => Authenticate;
  /** Prometheus text. */
  readonly text: () => string;
}

/** Source: apiserver pkg/authentication/request/x509, clientCertificateExpirationHistogram. */
const expirationBounds: readonly number[] = [
  0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000,
];

/** Counts from zero; `now` in milliseconds since the epoch, `monotonic` in those of a monotonic clock. Source: apiserver pkg/endpoints/filters/metrics.go. */
export function authenticationMetrics(now: () => number, monotonic: () => number): AuthenticationMetrics {
  const attempts = decisions(["success", "failure", "error"], {
    counts: { name: "authentication_attempts", help: "Authentications of requests, by result." },
    durations: { name: "authentication_duration_seconds", help: "How long authentications took, by result." },
  });
  const users = counter(
    "authenticated_user_requests",
    "Requests that were authenticated, by category of the username.",
  );
  // All requests of a connection have the same list object.
  const ends = new WeakMap<readonly Uint8Array[], number>();
  const expiration = histogram({
    name: "apiserver_client_certificate_expiration_seconds",
    help: "Remaining lifetime of the certificates that requests were authenticated with.",
    bounds: expirationBounds,
  });
  const succeeded = ({ peerCertificates }: RequestFacts, { user, credential }: Success): void => {
    users.add(`username="${userCategory(user.username)}"`);
    // Only certificates have one. An unverified certificate does not count: any client can present an expired one.
    if (credential?.serialNumber === undefined) return;
    const end = ends.get(peerCertificates) ?? endOf(peerCertificates);
    ends.set(peerCertificates, end);
    expiration.observe("", (end - now()) / 1000);
  };
  return {
    counted: (authenticate) => async (facts) => {
      const begun = monotonic();
      let result: "success" | "failure" | "error" = "error";
      try {
        const authentication = await authenticate(facts);
        if (authentication.kind === "authenticated") {
          result = "success";
          succeeded(facts, authentication);
        } else if (isWithoutCredential(facts)) result = "failure";
        return authentication;
      } finally {
        attempts.observe(result, (monotonic() - begun) / 1000);
      }
    },
    text: () => attempts.counts() + users.text() + attempts.durations() + expiration.text(),
  };
}

type Success = Extract<Authenticated, { kind: "authenticated" }>;

/** The request is rejected because anonymous requests are not allowed, not because of a wrong credential. */
function isWithoutCredential({ authorization, peerCertificates }: RequestFacts): boolean {
  return authorization === undefined && peerCertificates.length === 0;
}

/** When a verified leaf expires, in milliseconds since the epoch. */
function endOf([leaf]: readonly Uint8Array[]): number {
  return leaf === undefined ? Number.NaN : parseCertificate(leaf).notAfter;
}

const shownUsers: ReadonlySet<string> = new Set([
  "admin",
  "client",
  "kube_proxy",
  "kubelet",
  "system:serviceaccount:kube-system:default",
]);

/** Few categories in place of usernames. Source: apiserver pkg/endpoints/filters/metrics.go, compressUsername. */
function userCategory(username: string): string {
  if (shownUsers.has(username)) return username;
  return username.includes("@") ? "email_id" : "other";
}
