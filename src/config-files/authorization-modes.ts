import type { ConfiguredAuthorizer } from "../authorization/configuration.ts";
import { authorizationModes } from "./authorization-members.ts";
import { HubError } from "../apimachinery/hub-error.ts";

/** What the flags of authorization say where no file does. */
export interface AuthorizationModeOptions {
  /** Empty where a file names the authorizers instead. */
  readonly authorizationModes: readonly string[];
  /** The policies of mode ABAC, one JSON object on each line. */
  readonly authorizationPolicyFile?: string | undefined;
  /** The service that mode Webhook asks. */
  readonly authorizationWebhook?:
    | {
        readonly configFile: string;
        readonly version: "v1" | "v1beta1";
        readonly authorizedMs: number;
        readonly unauthorizedMs: number;
      }
    | undefined;
}

/** The authorizers that `--authorization-mode` names; there their name is their mode. @throws HubError for modes that cannot be used. */
export function authorizersOfModes(options: AuthorizationModeOptions): readonly ConfiguredAuthorizer[] {
  const { authorizationModes: names, authorizationWebhook: webhook, authorizationPolicyFile } = options;
  checkModes(names);
  if (webhook !== undefined && !names.includes("Webhook")) {
    throw new HubError("options", "--authorization-webhook-config-file needs --authorization-mode Webhook");
  }
  if (authorizationPolicyFile !== undefined && !names.includes("ABAC")) {
    throw new HubError("options", "--authorization-policy-file needs --authorization-mode ABAC");
  }
  return names.map((name) =>
    name !== "Webhook" || webhook === undefined
      ? { type: name, name }
      : {
          type: name,
          name,
          webhook: {
            ...webhook,
            kubeconfigFile: webhook.configFile,
            timeoutMs: 30_000,
            onError: "noOpinion",
            matchConditions: [],
          },
        },
  );
}

function checkModes(names: readonly string[]): void {
  const allowed = authorizationModes.join(", ");
  const unknown = names.find((name) => !authorizationModes.includes(name));
  if (unknown !== undefined)
    throw new HubError(
      "options",
      `--authorization-mode ${JSON.stringify(unknown)} is not known; allowed are ${allowed}`,
    );
  if (names.length === 0) throw new HubError("options", `--authorization-mode is empty; allowed are ${allowed}`);
  if (new Set(names).size < names.length)
    throw new HubError("options", `--authorization-mode names a mode twice: ${names.join(",")}`);
}
