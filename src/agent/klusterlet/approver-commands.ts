import type { OpenDecision } from "./klusterlet-event.ts";

/** What an approver types on the hub for the decisions that are open: one command for all, or one for each. */
export function approverCommands(
  open: readonly OpenDecision[],
  about: { readonly cluster: string; readonly agent: string; readonly request: string | undefined },
): readonly string[] {
  const { cluster, agent, request } = about;
  const each = open.flatMap((decision) => {
    if (decision === "certificate") return request === undefined ? [] : [`kubectl certificate approve ${request}`];
    return [`kubectl patch managedcluster ${cluster} --type=merge -p '{"spec":{"hubAcceptsClient":true}}'`];
  });
  return [`pratique cluster accept ${cluster} --agent-id ${agent}`, each.join(" && ")].filter((one) => one !== "");
}

/** What lets an agent go on whose request was denied: that is final, and it makes another one only when an approver has deleted it. */
export function deniedRequestStep(request: string): string {
  return `To let the agent request another certificate, delete that request on the hub: kubectl delete csr ${request}`;
}
