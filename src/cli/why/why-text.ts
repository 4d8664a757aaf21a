import type { Attributes } from "../../authorization/authorizer.ts";
import { placeOf } from "../../authorization/suggest-bindings.ts";
import type { UserInfo } from "../../apimachinery/user.ts";
import type { AccessExplanationStatus, ExplainedObject } from "../../apis/access-explanation.ts";
import type { Explained } from "./explain-from-outside.ts";
import { printable } from "../printable.ts";
import { textTable } from "../output.ts";

/** An explanation and its question. */
export interface WhyShown extends Explained {
  readonly action: Omit<Attributes, "user">;
  /** Undefined for the caller. */
  readonly user: UserInfo | undefined;
}

/** An explanation for people: the answer first, then each authorizer, then the next step. Foreign texts are escaped. */
export function whyText(shown: WhyShown): string {
  const { status, source } = shown;
  const paragraphs = [
    escaped([answer(shown)]),
    chainText(status),
    escaped(grantLines(shown)),
    escaped(nearestLines(shown)),
    escaped(toAllowLines(shown)),
    escaped([
      ...(status.notes ?? []).map((note) => `Note: ${note}`),
      ...(source.rights === "worked out here" && (!status.allowed || status.grant !== undefined)
        ? [
            `The verdict and its reason are the server's (${source.verdict}); the rest was worked out here from the roles and bindings that you may read.`,
          ]
        : []),
    ]),
  ];
  return paragraphs.filter((text) => text !== "").join("\n");
}

function escaped(lines: readonly string[]): string {
  return lines.map((line) => `${printable(line)}\n`).join("");
}

function answer({ status, action, user }: WhyShown): string {
  const { verb, resource, group, subresource, name, path } = action;
  const kind = group === "" || group === "*" ? resource : `${resource}.${group}`;
  const object = `${kind}${name === "" ? "" : `/${name}`}${subresource === "" ? "" : ` (${subresource})`}`;
  const what = path === undefined ? `${object} ${placeOf(action)}` : `path ${path}`;
  const [yes, may] = status.allowed ? ["yes", "may"] : ["no", "may not"];
  return `${yes}: ${subjectText(user)} ${may} ${verb} ${what}`;
}

function subjectText(user: WhyShown["user"]): string {
  if (user === undefined) return "you";
  const { username, groups } = user;
  const who = username === "" ? `group ${groups[0] ?? ""}` : username;
  return groups.length === 0 ? who : `${who} (groups: ${groups.join(", ")})`;
}

const verdicts: Readonly<Record<string, string>> = { allow: "allows", deny: "forbids", noOpinion: "no opinion" };

function chainText({ authorizers = [], allowed, denied }: AccessExplanationStatus): string {
  if (authorizers.length === 0) return "";
  const timed = authorizers.some(({ ms }) => ms !== undefined);
  // It precedes every chain and has no opinion on most requests.
  const reported = authorizers.filter(({ type, verdict }) => type !== "Masters" || verdict !== "noOpinion");
  const rows = reported.map(({ name, type = name, verdict, ms, reason, error, note }) => [
    type === name ? name : `${name} (${type})`,
    verdicts[verdict] ?? verdict,
    ...(timed ? [ms === undefined ? "" : ms < 10 ? ms.toFixed(2) : String(Math.round(ms))] : []),
    [reason?.replaceAll("\n", "; "), error === undefined ? undefined : `ERROR: ${error}`, note]
      .filter((text) => text !== undefined)
      .join(" — "),
  ]);
  const table = textTable({ headings: ["AUTHORIZER", "VERDICT", ...(timed ? ["MS"] : []), "WHY"], rows });
  const isNotAllowed = !allowed && denied !== true && reported.length > 1;
  return isNotAllowed
    ? `${table}${escaped(["No authorizer allowed it, and a request that no authorizer allows is denied."])}`
    : table;
}

function grantLines({ status: { grant } }: WhyShown): readonly string[] {
  if (grant === undefined) return [];
  const { binding, subject, role, rule } = grant;
  return [
    `binding  ${objectText(binding)}`,
    `subject  ${objectText(subject)}`,
    `role     ${objectText(role)}`,
    ...(rule === undefined ? [] : [`rule     ${rule}`]),
  ];
}

function nearestLines({ status: { allowed, nearest = [] }, source }: WhyShown): readonly string[] {
  if (allowed || source.rights === "not known") return [];
  if (nearest.length === 0) return ["Nothing comes near: no right that was looked at lacks only one thing."];
  return ["What comes nearest:", ...nearest.map(({ text }) => `- ${text}`)];
}

function toAllowLines({ status: { allowed, toAllow = [] }, user }: WhyShown): readonly string[] {
  if (allowed || toAllow.length === 0) return [];
  const who = user === undefined ? " (for a user who may change roles)" : "";
  const what = toAllow.every((line) => line.includes("kubectl create ")) ? "exactly this, and nothing else" : "this";
  return [`To allow ${what}${who}:`, ...toAllow.map((line) => `  ${line}`)];
}

function objectText({ kind, namespace, name }: ExplainedObject): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${name} in namespace ${namespace}`;
}
