import { resolve } from "node:path";
import type { Hub } from "../../server/hub.ts";
import { HubError } from "../../apimachinery/hub-error.ts";
import type { HubOptions } from "../../server/hub-options.ts";
import { kubeletAddressTypes } from "../../kubelet/kubelet-address.ts";
import { CliError, securePort, usageError } from "../cli-error.ts";
import { coloursFor } from "../progress.ts";
import type { Args, Run } from "../command.ts";
import { failureOf } from "../failure.ts";
import type { Io } from "../io.ts";
import { logLine, logTo } from "../log-line.ts";
import { release } from "../release.ts";
import { tlsSans } from "../serving.ts";
import { logEntry } from "../../apimachinery/log-entry.ts";
import { shellWord } from "../../apimachinery/shell-word.ts";

/** Starts a hub, prints how to reach it, and waits for a signal or its end. */
export const runHub: Run = async (args, io) => {
  const options = hubOptions(args, io);
  const interrupted = io.interrupted();
  const hub = await start(options, io);
  // A signal takes effect also while the hub still starts.
  if (!interrupted.aborted) printReady(hub, args, io);
  const ended = await Promise.race([hub.stopped.then(() => "stopped", reason), aborted(interrupted)]);
  if (ended === "signal") {
    options.log(
      logEntry("Stopping", "the hub stops: requests in progress may finish; a second signal ends it at once"),
    );
    await hub.close();
    options.log(logEntry("Stopped", "the hub stopped"));
    return;
  }
  await hub.close();
  if (ended !== "stopped") throw new CliError("failed", `the hub stopped: ${ended}`);
};

/** A wrong flag or file is an error of the command line; a port or a folder in use is not. */
async function start(options: HubOptions, io: Io): Promise<Hub> {
  try {
    return await io.startHub(options);
  } catch (error) {
    const isUsage = error instanceof HubError && (error.code === "options" || error.code === "ca");
    throw isUsage ? usageError(error.message) : error;
  }
}

function reason(error: unknown): string {
  return failureOf(error).message;
}

function aborted(signal: AbortSignal): Promise<"signal"> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve("signal");
    signal.addEventListener("abort", () => resolve("signal"), { once: true });
  });
}

function hubOptions(args: Args, io: Io): HubOptions {
  const port = securePort(args);
  const clusterSigningCertFile = args.text("cluster-signing-cert-file");
  const clusterSigningKeyFile = args.text("cluster-signing-key-file");
  if ((clusterSigningCertFile === undefined) !== (clusterSigningKeyFile === undefined)) {
    throw usageError("--cluster-signing-cert-file and --cluster-signing-key-file come together");
  }
  const clusterSigningDurationSeconds = Math.floor((args.number("cluster-signing-duration") ?? 0) / 1000);
  if (clusterSigningDurationSeconds < 600) {
    throw usageError(
      `--cluster-signing-duration ${clusterSigningDurationSeconds}s: must be 10m or more, the shortest life that may be asked for`,
    );
  }
  return {
    dataDir: resolve(io.cwd, args.text("data-dir") ?? ""),
    bindAddress: args.text("bind-address") ?? "",
    securePort: port,
    tlsSans: tlsSans(args),
    ...authorizationFlags(args),
    anonymousAuth: args.on("anonymous-auth"),
    tokenAuthFile: args.text("token-auth-file"),
    authenticationConfigFile: args.text("authentication-config"),
    oidc: oidcFlags(args),
    tokenWebhook: tokenWebhook(args),
    clusterSigningCertFile,
    clusterSigningKeyFile,
    clusterSigningDurationSeconds,
    serviceAccountIssuers: args.list("service-account-issuer"),
    serviceAccountSigningKeyFile: args.text("service-account-signing-key-file"),
    serviceAccountKeyFiles: args.list("service-account-key-file"),
    apiAudiences: args.list("api-audiences"),
    serviceAccountMaxTokenExpirationSeconds: Math.floor(
      (args.number("service-account-max-token-expiration") ?? 0) / 1000,
    ),
    serviceAccountExtendTokenExpiration: args.on("service-account-extend-token-expiration"),
    nodeAutoapprove: !args.on("no-node-autoapprove"),
    nodeAutoapproveNamesInUse: args.on("node-autoapprove-names-in-use"),
    servingApproval: servingApproval(args),
    quotaBackendBytes: quotaBackendBytes(args),
    revocationsFile: args.text("revocations-from"),
    managedClusters: managedClusters(args),
    enableAdmissionPlugins: args.list("enable-admission-plugins"),
    disableAdmissionPlugins: args.list("disable-admission-plugins"),
    ...auditFlags(args),
    ...inflightFlags(args),
    ...kubeletFlags(args),
    accessRequests: {
      perAddress: args.number("access-requests-per-address") ?? 0,
      inAll: args.number("access-requests-per-minute") ?? 0,
      pending: args.number("access-requests-pending") ?? 0,
    },
    release,
    log: logTo(args, io),
  };
}

/** As with kubeadm, the Node authorizer is for nodes and RBAC for all others. */
const defaultModes: readonly string[] = ["Node", "RBAC"];

function authorizationFlags(args: Args): Pick<HubOptions, Extract<keyof HubOptions, `authorization${string}`>> {
  const authorizationConfigFile = args.text("authorization-config");
  const configFile = args.text("authorization-webhook-config-file");
  const modes = args.list("authorization-mode");
  return {
    authorizationModes: modes.length === 0 && authorizationConfigFile === undefined ? defaultModes : modes,
    authorizationPolicyFile: args.text("authorization-policy-file"),
    authorizationWebhook:
      configFile === undefined
        ? undefined
        : {
            configFile,
            version: args.text("authorization-webhook-version") === "v1" ? "v1" : "v1beta1",
            authorizedMs: args.number("authorization-webhook-cache-authorized-ttl") ?? 300_000,
            unauthorizedMs: args.number("authorization-webhook-cache-unauthorized-ttl") ?? 30_000,
          },
    authorizationConfigFile,
  };
}

/** Undefined where no option of the kind is given, defaults aside. */
function oidcFlags(args: Args): HubOptions["oidc"] {
  const flags = {
    issuerUrl: args.text("oidc-issuer-url"),
    clientId: args.text("oidc-client-id"),
    usernamePrefix: args.text("oidc-username-prefix"),
    groupsClaim: args.text("oidc-groups-claim"),
    groupsPrefix: args.text("oidc-groups-prefix"),
    caFile: args.text("oidc-ca-file"),
  };
  const requiredClaims = args.list("oidc-required-claim");
  if (requiredClaims.length === 0 && Object.values(flags).every((value) => value === undefined)) return undefined;
  return {
    ...flags,
    requiredClaims,
    usernameClaim: args.text("oidc-username-claim"),
    signingAlgorithms: args.list("oidc-signing-algs"),
  };
}

/** The file of an option that requires another one. @throws CliError usage */
function fileOf(
  args: Args,
  option: string,
  needed: { readonly option: string; readonly given: boolean },
): string | undefined {
  const file = args.text(option);
  if (file === undefined || needed.given) return file;
  throw usageError(`--${option} needs --${needed.option}`);
}

/** A file alone would approve nothing, which its author cannot intend. */
function servingApproval(args: Args): HubOptions["servingApproval"] {
  const providers = args.list("serving-approval");
  const given = providers.length > 0;
  const configFile = fileOf(args, "serving-approval-config", { option: "serving-approval", given });
  return given ? { providers, configFile } : undefined;
}

function managedClusters(args: Args): HubOptions["managedClusters"] {
  const given = args.on("managed-clusters");
  const configFile = fileOf(args, "registration-config", { option: "managed-clusters", given });
  return given ? { configFile } : undefined;
}

function tokenWebhook(args: Args): HubOptions["tokenWebhook"] {
  const configFile = args.text("authentication-token-webhook-config-file");
  if (configFile === undefined) return undefined;
  return {
    configFile,
    version: args.text("authentication-token-webhook-version") === "v1" ? "v1" : "v1beta1",
    cacheMs: args.number("authentication-token-webhook-cache-ttl") ?? 120_000,
  };
}

function auditFlags(args: Args): Pick<HubOptions, Extract<keyof HubOptions, `audit${string}`>> {
  const auditWebhookBatchMaxSize = args.number("audit-webhook-batch-max-size");
  if (auditWebhookBatchMaxSize === 0) throw usageError("--audit-webhook-batch-max-size 0: must be 1 or more");
  return {
    auditPolicyFile: args.text("audit-policy-file"),
    auditLogPath: args.text("audit-log-path"),
    auditLogMaxSizeMb: args.number("audit-log-maxsize"),
    auditLogMaxBackups: args.number("audit-log-maxbackup"),
    auditLogMaxAgeDays: args.number("audit-log-maxage"),
    auditWebhookConfigFile: args.text("audit-webhook-config-file"),
    auditWebhookBatchMaxSize,
    auditWebhookBatchMaxWaitMs: args.number("audit-webhook-batch-max-wait"),
    auditWebhookInitialBackoffMs: args.number("audit-webhook-initial-backoff"),
  };
}

/** @throws CliError for an unknown type of address */
function kubeletFlags(args: Args): Pick<HubOptions, "kubeletPreferredAddressTypes" | "kubeletCertificateAuthority"> {
  const types = args.list("kubelet-preferred-address-types");
  const unknown = types.find((type) => !kubeletAddressTypes.includes(type));
  if (unknown !== undefined) {
    throw usageError(`--kubelet-preferred-address-types ${unknown}: must be one of ${kubeletAddressTypes.join(", ")}`);
  }
  return {
    kubeletPreferredAddressTypes: types,
    kubeletCertificateAuthority: args.text("kubelet-certificate-authority"),
  };
}

/** Below it, the hub's own objects would leave no room. */
const minQuotaBytes = 16 * 1024 * 1024;

function quotaBackendBytes(args: Args): number {
  const bytes = args.number("quota-backend-bytes") ?? 0;
  if (bytes === 0 || bytes >= minQuotaBytes) return bytes;
  throw usageError(`--quota-backend-bytes ${bytes}: must be 0, or ${minQuotaBytes} (16 MiB) or more`);
}

function inflightFlags(
  args: Args,
): Pick<HubOptions, "maxRequestsInflight" | "maxMutatingRequestsInflight" | "maxWatchesPerUser"> {
  const maxRequestsInflight = args.number("max-requests-inflight") ?? 0;
  const maxMutatingRequestsInflight = args.number("max-mutating-requests-inflight") ?? 0;
  if (maxRequestsInflight + maxMutatingRequestsInflight === 0) {
    throw usageError("--max-requests-inflight and --max-mutating-requests-inflight must not both be 0");
  }
  return {
    maxRequestsInflight,
    maxMutatingRequestsInflight,
    maxWatchesPerUser: args.number("max-watches-per-user"),
  };
}

/** For a person, with the next steps; in a log of JSON, one line. */
function printReady(hub: Hub, args: Args, io: Io): void {
  if (args.text("log-format") !== "json") {
    io.stdout.write(welcome(hub, io));
    return;
  }
  const { url, caPin, store, adminKubeconfig, readyMs } = hub;
  const details = { url, caPin, store, kubeconfig: adminKubeconfig, readyMs: Math.round(readyMs) };
  io.stdout.write(logLine("json", io.clock.now(), logEntry("Ready", "the hub is ready", { ...details })));
}

function welcome(hub: Hub, io: Io): string {
  const { bold, dim, green } = coloursFor(io.stdout, io);
  const { host } = new URL(hub.url);
  const address = new URL(hub.url).port === "" ? `${host}:443` : host;
  return [
    `${green("Ready")} in ${Math.round(hub.readyMs)} ms`,
    `  address      ${bold(hub.url)}`,
    `  CA pin       ${hub.caPin}`,
    `  store        ${hub.store}`,
    `  kubeconfig   ${hub.adminKubeconfig}`,
    "",
    "To let a machine in, get a token and the whole command line:",
    `  ${bold(`${io.program} token create --print-join-command --kubeconfig ${shellWord(hub.adminKubeconfig)}`)}`,
    "and type on that machine what it prints:",
    `  ${bold(`pratique join ${address} --token <token> --discovery-token-ca-cert-hash ${hub.caPin}`)}`,
    dim("Stop with Ctrl-C."),
    "",
  ].join("\n");
}
