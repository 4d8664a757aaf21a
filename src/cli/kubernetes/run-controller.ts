import { dnsLabelProblems, dnsSubdomainProblems } from "../../apimachinery/names.ts";
import { logEntry } from "../../apimachinery/log-entry.ts";
import { serveHealth } from "../../host/health-listener.ts";
import { runControllerManager, type ControllerManager } from "../../operator/controller-manager.ts";
import { controllerPlan, type ControllerOptions } from "../../operator/controller-plan.ts";
import { checkedText, usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import { logTo } from "../log-line.ts";
import { warningInLog } from "../open-secrets.ts";
import { withServer } from "../server-access.ts";

/** Runs the controllers against the cluster of the kubeconfig until a signal; with leader election, only while it is the leader. */
export const runController: Run = async (args, io) => {
  const log = logTo(args, io);
  const signal = io.interrupted();
  await withServer(args, warningInLog(io, log), async (server) => {
    const options = controllerOptions(args);
    const lease = leaseOf(args);
    const plan = await controllerPlan(options, server, io);
    // A standby is ready.
    const health = await serveHealth(args.text("health-address"), { isReady: () => true, log });
    try {
      await runControllerManager({ client: server.client, plan, world: { ...io, log }, signal, lease });
    } finally {
      await health?.close();
    }
  });
  log(logEntry("Stopped", "the controller stopped"));
};

function controllerOptions(args: Args): ControllerOptions {
  const names = args.list("controllers");
  const registrationFile = args.text("registration-config");
  if (registrationFile !== undefined && !names.includes("registration")) {
    throw usageError("--registration-config needs --controllers registration");
  }
  return {
    names,
    caFile: args.text("ca-file"),
    servingApproval: { providers: args.list("serving-approval"), configFile: args.text("serving-approval-config") },
    registrationFile,
  };
}

/** @throws CliError usage, also where no leader is elected */
function leaseOf(args: Args): ControllerManager["lease"] {
  const namespace = checkedText(args, "leader-elect-lease-namespace", dnsLabelProblems);
  const name = checkedText(args, "leader-elect-lease-name", dnsSubdomainProblems);
  return args.on("leader-elect") ? { namespace, name } : undefined;
}
