import { type Command, type CommandGroup, defineCommand, defineOptions } from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../shared-options.ts";

const dataDir = defineOptions({ "--data-dir DIR = ./pratique-data": "the data directory of the hub, on its machine" });

const how =
  "The command changes files in the hub's data directory; a running hub reads them within a few seconds, without a restart.";

function step(
  name: "prepare" | "cancel" | "activate",
  texts: Pick<Command, "deprecatedName" | "summary" | "details">,
): Command {
  const note = `${texts.summary.charAt(0).toLowerCase()}${texts.summary.slice(1)}`;
  return defineCommand({
    ...texts,
    name: `ca ${name}`,
    details: [...texts.details, how],
    options: dataDir,
    examples: { [note]: `ca ${name} --data-dir /var/lib/pratique` },
    run: async (args, io) => (await import("./run-ca.ts")).caStep(name, args, io),
  });
}

/** `pratique ca …`. */
export const caCommands: CommandGroup = {
  name: "ca",
  summary: "Change the CA of a hub without losing a machine",
  commands: [
    defineCommand({
      name: "ca status",
      summary: "Show the CAs of a hub and the phase of a CA change",
      options: [...dataDir, outputOption],
      examples: { "which CA signs, and what the next step is": "ca status --data-dir /var/lib/pratique" },
      run: async (args, io) => (await import("./run-ca.ts")).caStatus(args, io),
    }),
    step("prepare", {
      summary: "Create the next CA, which is trusted at once and does not sign yet",
      details: [
        "From now on cluster-info, kube-root-ca.crt and every credential that the hub issues name both CAs; agents read them within an hour. `ca cancel` undoes this step.",
      ],
    }),
    step("cancel", {
      deprecatedName: "ca abandon",
      summary: "Remove the prepared CA and delete its key",
      details: ["The command fails after `ca activate`."],
    }),
    step("activate", {
      deprecatedName: "ca switch",
      summary: "Activate the prepared CA; the previous one stays trusted",
      details: [
        "The hub issues a new serving certificate and admin.kubeconfig. Certificates of the previous CA stay valid until it is revoked. The previous CA signs a certificate for the new one, so that machines which trust the previous CA alone can follow.",
      ],
    }),
    defineCommand({
      name: "ca check",
      deprecatedName: "ca rehearse",
      summary: "List the machines that would lose access if only the newest CA were trusted",
      details: [
        'Agents show the hub by themselves that they trust the newest CA; kubelets and other programs cannot, and are listed with "not shown". The command reads from the hub which credentials were issued, with admin.kubeconfig of the data directory unless --kubeconfig names another file.',
        "Revoked credentials do not count. The exit code is 1 if a machine would lose access, and 2 if no change is in progress.",
      ],
      options: [...dataDir, outputOption, ...serverOptions],
      examples: { "which machines are not ready, and why": "ca check --data-dir /var/lib/pratique" },
      run: async (args, io) => (await import("./run-ca.ts")).caCheck(args, io),
    }),
    defineCommand({
      name: "ca revoke",
      deprecatedName: "ca retire",
      summary: "Remove the previous CA from the trust bundle and delete its key",
      details: ["The command fails while machines would lose access; `ca check` lists them.", how],
      options: [
        ...dataDir,
        ...defineOptions({
          "--force":
            "revoke the CA although machines lose access, which the command then lists, or although the hub cannot be reached",
        }),
        ...serverOptions,
      ],
      examples: { "end the change": "ca revoke --data-dir /var/lib/pratique" },
      run: async (args, io) => (await import("./run-ca.ts")).caRevoke(args, io),
    }),
  ],
};
