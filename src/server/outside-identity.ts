import type { TokenAuthenticator } from "../authentication/bearer.ts";
import { claimMapping } from "../authentication/oidc/claim-mapping.ts";
import {
  readAuthenticationConfiguration,
  type AuthenticationConfiguration,
  type JwtIssuer,
} from "../authentication/oidc/configuration.ts";
import { issuerKeys } from "../authentication/oidc/issuer-keys.ts";
import { oidcAlgorithms, oidcTokens } from "../authentication/oidc/oidc-tokens.ts";
import { webhookTokens } from "../authentication/webhook-tokens.ts";
import { environmentProxy } from "../client/environment-proxy.ts";
import { remoteClient } from "../client/remote.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import type { HubOptions } from "./hub-options.ts";
import {
  openKubeconfigTarget,
  TargetError,
  type KubeconfigTarget,
  retriedReview,
} from "../webhooks/kubeconfig-target.ts";
import { optionText } from "../host/read-text.ts";
import { fieldsError, yamlOf } from "../config-files/option-file.ts";
import { oidcFlagsConfiguration, oidcFlagText } from "../config-files/oidc-flags.ts";

/** Authenticators that rely on external issuers and services. */
export interface OutsideIdentity {
  readonly members: readonly TokenAuthenticator[];
  /** The setting of the configuration file for requests without credentials. */
  readonly anonymous: AuthenticationConfiguration["anonymous"];
  close(): void;
}

export interface OutsideIdentityOptions {
  readonly hub: HubOptions;
  readonly clock: Clock;
  /** The names of the API. */
  readonly audiences: readonly string[];
  /** The issuers of the hub's own tokens, which external issuers must not use. */
  readonly issuers: readonly string[];
}

const readMs = 30_000;
const maxBytes = 1 << 20;

/** Reads the files that name external issuers and services. These are not called before the first token arrives. @throws HubError naming option and field. */
export async function outsideIdentity(options: OutsideIdentityOptions): Promise<OutsideIdentity> {
  const { hub, clock, audiences } = options;
  const configuration = await configurationOf(options);
  for (const issuer of configuration.issuers) warnOfUnprefixed(issuer, hub.log);
  const members = configuration.issuers.map((issuer) => {
    const { fetchJson } = jsonReader(issuer, options);
    return oidcTokens({
      issuer: issuer.url,
      audiences: issuer.audiences,
      algorithms: hub.oidc?.signingAlgorithms ?? oidcAlgorithms,
      keys: issuerKeys({ issuer: issuer.url, discoveryUrl: issuer.discoveryUrl, fetchJson, now: () => clock.now() }),
      mapping: claimMapping(issuer),
      apiAudiences: audiences,
      now: () => clock.now(),
    });
  });
  const webhook = await tokenWebhook(options);
  return {
    members: webhook === undefined ? members : [...members, webhook.member],
    anonymous: configuration.anonymous,
    close: () => webhook?.target.close(),
  };
}

async function configurationOf({ hub, issuers }: OutsideIdentityOptions): Promise<AuthenticationConfiguration> {
  const file = hub.authenticationConfigFile;
  if (file === undefined && hub.oidc === undefined) return { issuers: [], anonymous: undefined };
  if (file !== undefined && hub.oidc !== undefined) {
    throw new HubError("options", "--authentication-config and the --oidc options exclude each other");
  }
  const place = `--authentication-config ${file}`;
  const value =
    file === undefined ? await oidcFlagsConfiguration(hub.oidc ?? {}) : yamlOf(await optionText(place, file), place);
  const read = readAuthenticationConfiguration(value, { issuers });
  if (read.configuration !== undefined) return read.configuration;
  const flags = hub.oidc;
  if (flags !== undefined) throw new HubError("options", read.errors.map((one) => oidcFlagText(one, flags)).join("; "));
  throw fieldsError(place, read.errors);
}

/** A user who can choose a group at the issuer could choose one of the hub's own, such as system:masters. */
function warnOfUnprefixed({ url, groups, userRules }: JwtIssuer, log: (entry: LogEntry) => void): void {
  if (groups?.claim === undefined || groups.prefix !== "" || userRules.length > 0) return;
  log(
    logEntry(
      "ConfigurationWarning",
      "groups of this issuer are taken as they are, system:masters among them; give a prefix, or a rule such as user.groups.all(g, !g.startsWith('system:'))",
      { issuer: url },
    ),
  );
}

function jsonReader(
  issuer: JwtIssuer,
  { hub, clock }: OutsideIdentityOptions,
): { readonly fetchJson: (url: string) => Promise<unknown> } {
  return {
    fetchJson: async (url) => {
      const { origin, pathname, search } = new URL(url);
      const client = remoteClient({
        server: origin,
        ...(issuer.caPem === undefined ? {} : { caPem: issuer.caPem }),
        proxyUrl: environmentProxy(origin, process.env),
        userAgent: `pratique-hub/${hub.release}`,
        timeoutMs: readMs,
        clock,
        retryBudgetMs: 0,
        maxReplyBytes: maxBytes,
      });
      try {
        const reply = await client.raw("GET", pathname + search, { headers: { accept: "application/json" } });
        if (reply.status !== 200) throw new TargetError("status", `status ${reply.status}`, reply);
        return JSON.parse(reply.body.toString("utf8")) as unknown;
      } finally {
        client.close();
      }
    },
  };
}

async function tokenWebhook(
  options: OutsideIdentityOptions,
): Promise<{ readonly member: TokenAuthenticator; readonly target: KubeconfigTarget } | undefined> {
  const { hub, clock, audiences } = options;
  if (hub.tokenWebhook === undefined) return undefined;
  const { configFile, version, cacheMs } = hub.tokenWebhook;
  const target = await openKubeconfigTarget({
    flag: "--authentication-token-webhook-config-file",
    file: configFile,
    clock,
    release: hub.release,
    timeoutMs: readMs,
    maxBytes,
  });
  const post = retriedReview((review: object) => target.post(review), clock);
  return { target, member: webhookTokens({ version, post, audiences, cacheMs, now: () => clock.now() }) };
}
