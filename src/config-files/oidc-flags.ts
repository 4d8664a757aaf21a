import { optionText } from "../host/read-text.ts";
import { HubError } from "../apimachinery/hub-error.ts";

/** One issuer, as the --oidc options name it. */
export interface OidcFlags {
  readonly issuerUrl?: string | undefined;
  readonly clientId?: string | undefined;
  /** Default `sub`. */
  readonly usernameClaim?: string | undefined;
  /** Default the issuer and `#`, and nothing where the claim is `email`; `-` for nothing. */
  readonly usernamePrefix?: string | undefined;
  readonly groupsClaim?: string | undefined;
  readonly groupsPrefix?: string | undefined;
  /** `claim=value` each. */
  readonly requiredClaims?: readonly string[];
  readonly caFile?: string | undefined;
  readonly signingAlgorithms?: readonly string[];
}

/** The options as an AuthenticationConfiguration in plain values. @throws HubError for an invalid option. */
export async function oidcFlagsConfiguration(flags: OidcFlags): Promise<unknown> {
  const { issuerUrl = "", clientId = "", usernameClaim = "sub", groupsClaim, groupsPrefix = "", caFile } = flags;
  if (issuerUrl === "" || clientId === "") {
    throw new HubError(
      "options",
      "--oidc-issuer-url and --oidc-client-id come together, and with every other --oidc option",
    );
  }
  return {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt: [
      {
        issuer: {
          url: issuerUrl,
          audiences: [clientId],
          ...(caFile === undefined ? {} : { certificateAuthority: await optionText("--oidc-ca-file", caFile) }),
        },
        claimValidationRules: (flags.requiredClaims ?? []).map(claimAndValue),
        claimMappings: {
          username: { claim: usernameClaim, prefix: usernamePrefix(flags.usernamePrefix, usernameClaim, issuerUrl) },
          ...(groupsClaim === undefined ? {} : { groups: { claim: groupsClaim, prefix: groupsPrefix } }),
        },
      },
    ],
  };
}

/** The flag of a field, with its value where the message does not have it. */
const flagOfField: Readonly<Record<string, (flags: OidcFlags) => string>> = {
  "jwt[0].issuer.url": () => "--oidc-issuer-url",
  "jwt[0].issuer.certificateAuthority": ({ caFile = "" }) => `--oidc-ca-file ${caFile}`,
  "jwt[0].claimMappings.username.claim": () => "--oidc-username-claim",
  "jwt[0].claimMappings.groups.claim": () => "--oidc-groups-claim",
};

/** A problem of the configuration that the flags form, described by the flag. */
export function oidcFlagText(
  { path, message }: { readonly path: string; readonly message: string },
  flags: OidcFlags,
): string {
  const flag = Object.hasOwn(flagOfField, path) ? flagOfField[path]?.(flags) : undefined;
  return `${flag ?? `the --oidc options: ${path}`}: ${message}`;
}

function usernamePrefix(given: string | undefined, claim: string, issuerUrl: string): string {
  if (given === "-") return "";
  if (given !== undefined && given !== "") return given;
  return claim === "email" ? "" : `${issuerUrl}#`;
}

function claimAndValue(text: string): { readonly claim: string; readonly requiredValue: string } {
  const equals = text.indexOf("=");
  if (equals > 0) return { claim: text.slice(0, equals), requiredValue: text.slice(equals + 1) };
  throw new HubError("options", `--oidc-required-claim ${JSON.stringify(text)}: expected claim=value`);
}
