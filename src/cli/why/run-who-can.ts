import { type ExplainedGrant, type PolicyObject, whoCan } from "../../authorization/explained-grant.ts";
import { placeOf } from "../../authorization/suggest-bindings.ts";
import { authenticatedGroup, mastersGroup, unauthenticatedGroup } from "../../apimachinery/user.ts";
import { askedOf } from "./asked-action.ts";
import { CliError } from "../cli-error.ts";
import type { Run } from "../command.ts";
import { writeResult, textTable } from "../output.ts";
import { printable } from "../printable.ts";
import { readPolicy } from "../../authorization/rbac-reader.ts";
import { withServer } from "../server-access.ts";

/** Runs `pratique who-can`. */
export const whoCanRun: Run = async (args, io) => {
  return withServer(args, io, async (server) => {
    const { client } = server;
    const { attributes } = await askedOf(args, io, server);
    const { index, unseen } = await readPolicy(client, attributes.namespace);
    if (unseen.includes("clusterroles") || unseen.includes("clusterrolebindings")) {
      throw new CliError("refused", `you may not list ${unseen.join(", ")} here`, [
        "who-can reads all roles and bindings: ask for a role that may list them.",
      ]);
    }
    const subjects = whoCan(index, { ...attributes, user: { username: "", groups: [] } });
    const notes = notesFor(subjects, unseen);
    await writeResult(args, io, {
      data: { action: attributes, subjects, notes },
      table: () => {
        const place = attributes.path === undefined ? ` ${placeOf(attributes)}` : "";
        const none = `RBAC allows no subject to do it${place}.\n`;
        return `${subjects.length === 0 ? none : subjectTable(subjects)}\n${notes.map((note) => `${printable(note)}\n`).join("")}`;
      },
    });
  });
};

function subjectTable(subjects: readonly ExplainedGrant[]): string {
  return textTable({
    headings: ["SUBJECT", "NAME", "BINDING", "ROLE"],
    rows: subjects.map(({ subject, binding, role }) => [
      subject.kind,
      placed(subject),
      `${binding.kind} ${placed(binding)}`,
      `${role.kind} ${role.name}`,
    ]),
  });
}

function placed({ namespace, name }: PolicyObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** What the table cannot show. */
function notesFor(subjects: readonly ExplainedGrant[], unseen: readonly string[]): readonly string[] {
  const groups = subjects.filter(({ subject }) => subject.kind === "Group").map(({ subject }) => subject.name);
  return [
    `Members of the group ${mastersGroup} may do everything, whatever the roles say.`,
    "Not seen from here: who is in a group, and whom Node, ABAC, a webhook or AlwaysAllow allows where the server has them.",
    ...(groups.includes(authenticatedGroup) ? [`${authenticatedGroup} is everybody with a credential.`] : []),
    ...(groups.includes(unauthenticatedGroup)
      ? [`${unauthenticatedGroup} is everybody who reaches the server, without a credential.`]
      : []),
    ...(unseen.length === 0 ? [] : [`You may not list ${unseen.join(", ")}; who has rights by them is missing.`]),
  ];
}
