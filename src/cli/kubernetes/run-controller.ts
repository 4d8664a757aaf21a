import type { Client, ResourceRef } from "../../client/client.ts";
import type { RemoteClient } from "../../client/remote.ts";
import { accessProfile } from "../../controllers/access/access-profile.ts";
import { accessRequest, type AccessRequestOptions } from "../../controllers/access/access-request.ts";
import type { AutoApproval } from "../../controllers/clusters/cluster-approving-policy.ts";
import { leaderTimings, leadWhileElected } from "../../controllers/leader-election.ts";
import { registrationControllers } from "../../controllers/clusters/registration.ts";
import { servingApproving, type ServingApproval } from "../../controllers/certificates/serving-approving.ts";
import { runControllers } from "../../controllers/runner.ts";
import { sharedInformers } from "../../controllers/shared-informers.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../../core/names.ts";
import type { ApiObject } from "../../core/object.ts";
import { serviceAccountUser, type UserInfo } from "../../core/user.ts";
import { readClusterRegistration } from "../../hub/cluster-registration.ts";
import { HubError } from "../../hub/hub-error.ts";
import { logEntry, type LogEntry } from "../../core/log-entry.ts";
import { readServingApproval } from "../../hub/serving-approval.ts";
import { systemResolver } from "../../hub/system-resolver.ts";
import { parseCsr } from "../../pki/csr.ts";
import { certificatesOfBundle, PinError } from "../../trust/pins.ts";
import { apiNames } from "../api-names.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import { failureOf } from "../failure.ts";
import { serveHealth } from "../health-listener.ts";
import type { Io } from "../io.ts";
import { logTo } from "../log-to.ts";
import { clusterRevocations } from "./cluster-revocations.ts";
import { warnInLog } from "../open-secrets.ts";
import { readText } from "../read-text.ts";
import { withServer, type ServerAccess } from "../server-access.ts";

/** Runs the controllers against the cluster of the kubeconfig until a signal; with an election, whenever it is the leader. */
export async function runController(args: Args, io: Io): Promise<ExitName> {
  const log = logTo(args, io);
  const signal = io.interrupted();
  await withServer(
    args,
    io,
    async (server) => {
      const plan = await planOf(args, io, server);
      if (plan.ca !== undefined)
        log(logEntry("TrustBundleSelected", "answers to machines contain this CA", { pins: plan.ca.pins }));
      let ready = false;
      const health = await serveHealth(args.text("health-address"), { isReady: () => ready, log });
      const lead = async (term: AbortSignal): Promise<void> => obey({ client: server.client, plan, io, log }, term);
      try {
        // One that waits for its turn is as ready as it will be.
        ready = true;
        if (args.on("leader-elect")) await elected({ args, io, client: server.client, log }, lead);
        else await lead(signal);
      } finally {
        await health?.close();
      }
    },
    warnInLog(log),
  );
  log(logEntry("Stopped", "the controller stopped"));
  return "ok";
}

/** What the controllers that shall run need to know; absent for those that shall not. */
interface Plan {
  readonly ca: { readonly pem: string; readonly pins: readonly string[] } | undefined;
  readonly serving: ServingApproval | undefined;
  readonly clusters: readonly AutoApproval[] | undefined;
}

async function planOf(args: Args, io: Io, server: ServerAccess): Promise<Plan> {
  const names = args.list("controllers");
  if (args.text("registration-config") !== undefined && !names.includes("registration")) {
    throw new CliError("usage", "--registration-config needs --controllers registration");
  }
  checkLease(args);
  return {
    ca: names.includes("access-request") ? await caToHandOut(args, io, server) : undefined,
    serving: names.includes("serving-approving") ? await servingPlan(args, server) : undefined,
    clusters: names.includes("registration") ? await clustersPlan(args) : undefined,
  };
}

/** @throws CliError usage */
function checkLease(args: Args): void {
  const checks = [
    ["leader-elect-lease-namespace", dnsLabelProblems],
    ["leader-elect-lease-name", dnsSubdomainProblems],
  ] as const;
  for (const [option, problemsOf] of checks) {
    const given = args.text(option) ?? "";
    const [problem] = problemsOf(given);
    if (problem !== undefined) throw new CliError("usage", `--${option} ${JSON.stringify(given)}: ${problem}`);
  }
}

/** Who joins clusters without a person; nobody, where no file says so. */
async function clustersPlan(args: Args): Promise<readonly AutoApproval[]> {
  const file = args.text("registration-config");
  try {
    return file === undefined ? [] : await readClusterRegistration(file);
  } catch (error) {
    throw error instanceof HubError ? new CliError("usage", error.message) : error;
  }
}

async function servingPlan(args: Args, { client, config }: ServerAccess): Promise<ServingApproval> {
  const flags = { providers: args.list("serving-approval"), configFile: args.text("serving-approval-config") };
  try {
    // What is wrong with the flags is told before the server is asked.
    await readServingApproval(flags, []);
    return await readServingApproval(flags, await apiNames(client, config.server));
  } catch (error) {
    throw error instanceof HubError ? new CliError("usage", error.message) : error;
  }
}

interface World {
  readonly client: RemoteClient;
  readonly plan: Plan;
  readonly io: Io;
  readonly log: (entry: LogEntry) => void;
}

/** Runs the controllers until `signal` aborts; never before it is known what is revoked, and anew when that was a mistake. */
async function obey(world: World, signal: AbortSignal): Promise<void> {
  const { client, io, log } = world;
  while (!signal.aborted) {
    const revoked = await clusterRevocations({ client, clock: io.clock, log, signal });
    if (revoked === undefined) return;
    await work({ ...world, isRevoked: revoked.isRevoked }, AbortSignal.any([signal, revoked.outdated]));
  }
}

interface Work extends World {
  readonly isRevoked: (user: UserInfo) => boolean;
}

/** Runs the controllers until `signal` aborts and nothing is under way any more. */
async function work({ client, plan, io, log, isRevoked }: Work, signal: AbortSignal): Promise<void> {
  const { clock, random } = io;
  const informers = sharedInformers({
    // One account for all here: that of the kubeconfig.
    clientFor: () => client,
    clock,
    random: Math.random,
    onError: (_account, resource, error) =>
      log(
        logEntry("WatchFailed", "a watch failed; the controller starts it again", {
          resource: resource.plural,
          error: failureOf(error).message,
        }),
      ),
    signal,
  });
  const { ca, serving, clusters } = plan;
  const controllers = [
    ...(ca === undefined
      ? []
      : [
          accessRequest({ informers, clock, random, ca, lifeOf: lifeBy(isRevoked) }),
          accessProfile({ informers, clock }),
        ]),
    ...(serving === undefined
      ? []
      : [servingApproving({ ...serving, informers, clock, parse: parseCsr, isRevoked, resolver: systemResolver() })]),
    ...(clusters === undefined
      ? []
      : registrationControllers({ informers, clock, parse: parseCsr, rules: clusters, revokes: false, isRevoked })),
  ];
  const { ready, stopped } = runControllers({
    controllers,
    informers,
    clock,
    signal,
    log,
  });
  await ready;
  if (!signal.aborted) {
    log(
      logEntry("ControllersStarted", "controllers started", {
        controllers: controllers.map(({ name }) => name).join(","),
      }),
    );
  }
  await stopped;
}

/** Of tokens that machines renewed nobody knows here. */
function lifeBy(isRevoked: Work["isRevoked"]): NonNullable<AccessRequestOptions["lifeOf"]> {
  return ({ namespace, serviceAccount }) => ({ isRevoked: isRevoked(serviceAccountUser(namespace, serviceAccount)) });
}

interface Election {
  readonly args: Args;
  readonly io: Io;
  readonly client: Client;
  readonly log: Work["log"];
}

async function elected({ args, io, client, log }: Election, lead: (term: AbortSignal) => Promise<void>): Promise<void> {
  const identity = `${io.hostname}_${Buffer.from(io.random(8)).toString("hex")}`;
  const namespace = args.text("leader-elect-lease-namespace") ?? "";
  const name = args.text("leader-elect-lease-name") ?? "";
  log(
    logEntry("LeaderElectionStarted", "attempting to acquire leader lease", {
      lease: `${namespace}/${name}`,
      identity,
    }),
  );
  await leadWhileElected({
    client,
    clock: io.clock,
    random: Math.random,
    lease: { namespace, name },
    identity,
    timings: leaderTimings,
    lead,
    log,
    signal: io.interrupted(),
  });
}

const configMaps: ResourceRef = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  scope: "Namespaced",
};

interface RootCa extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The CAs that answers carry, with the pins by which machines know them. @throws CliError usage; PinError */
export async function caToHandOut(
  args: Args,
  io: Io,
  { client, config }: ServerAccess,
): Promise<{ readonly pem: string; readonly pins: readonly string[] }> {
  const file = args.text("ca-file");
  const pem = file === undefined ? (config.caPem ?? (await rootCa(client))) : await readText("ca-file", file, io);
  if (pem === undefined) {
    throw new CliError("usage", "there is no CA to give to machines: the kubeconfig names none; give --ca-file");
  }
  try {
    return { pem, pins: certificatesOfBundle(pem).map(({ pin }) => pin) };
  } catch (error) {
    if (file === undefined || !(error instanceof PinError)) throw error;
    throw new CliError("usage", `--ca-file ${file}: ${error.message}`);
  }
}

async function rootCa(client: Client): Promise<string | undefined> {
  const map = await client.get<RootCa>(configMaps, { namespace: "kube-public", name: "kube-root-ca.crt" });
  return map.data?.["ca.crt"];
}
