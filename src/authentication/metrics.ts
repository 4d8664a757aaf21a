import type { Authenticated } from "./authenticated.ts";
import type { RequestFacts } from "./authenticator.ts";
import { parseCertificate } from "../pki/parse-certificate.ts";
import { decisionBounds, familiesText, histogram, type Sample } from "../metrics/family.ts";

type Authenticate = (facts: RequestFacts) => Promise<Authenticated>;

/** What is counted of authentication. */
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

/** Counts from zero; `now` in milliseconds since the epoch, `monotonic` in those of a clock that is not set back. Source: apiserver pkg/endpoints/filters/metrics.go. */
export function authenticationMetrics(now: () => number, monotonic: () => number): AuthenticationMetrics {
  const attempts = { success: 0, failure: 0, error: 0 };
  const users = new Map<string, number>();
  // A connection presents one and the same list with each of its requests.
  const ends = new WeakMap<readonly Uint8Array[], number>();
  const expiration = histogram({
    name: "apiserver_client_certificate_expiration_seconds",
    help: "Remaining lifetime of the certificates that requests were authenticated with.",
    bounds: expirationBounds,
  });
  const durations = histogram({
    name: "authentication_duration_seconds",
    help: "How long authentications took, by result.",
    bounds: decisionBounds,
  });
  const took = {
    success: durations.observerOf('result="success"'),
    failure: durations.observerOf('result="failure"'),
    error: durations.observerOf('result="error"'),
  };
  const succeeded = ({ peerCertificates }: RequestFacts, { user, credential }: Success): void => {
    const category = userCategory(user.username);
    users.set(category, (users.get(category) ?? 0) + 1);
    // Only certificates have one. A certificate that did not verify says nothing: anyone can present an expired one.
    if (credential?.serialNumber === undefined) return;
    const end = ends.get(peerCertificates) ?? endOf(peerCertificates);
    ends.set(peerCertificates, end);
    expiration.observe("", (end - now()) / 1000);
  };
  return {
    counted: (authenticate) => async (facts) => {
      const begun = monotonic();
      let result: keyof typeof attempts = "error";
      try {
        const authentication = await authenticate(facts);
        if (authentication.kind === "authenticated") {
          result = "success";
          succeeded(facts, authentication);
        } else if (isWithoutCredential(facts)) result = "failure";
        return authentication;
      } finally {
        attempts[result] += 1;
        took[result]((monotonic() - begun) / 1000);
      }
    },
    text: () =>
      familiesText([
        {
          name: "authentication_attempts",
          type: "counter",
          help: "Authentications of requests, by result.",
          samples: Object.entries(attempts).map(([result, count]): Sample => [`result="${result}"`, count]),
        },
        {
          name: "authenticated_user_requests",
          type: "counter",
          help: "Requests that were authenticated, by category of the username.",
          samples: [...users].map(([username, count]): Sample => [`username="${username}"`, count]),
        },
      ]) +
      durations.text() +
      expiration.text(),
  };
}

type Success = Extract<Authenticated, { kind: "authenticated" }>;

/** It was refused since anonymous requests are not allowed, and not since its credential is wrong. */
function isWithoutCredential({ authorization, peerCertificates }: RequestFacts): boolean {
  return authorization === undefined && peerCertificates.length === 0;
}

/** When a leaf that has been verified ends, in milliseconds since the epoch. */
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
