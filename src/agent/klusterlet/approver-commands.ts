import type { OpenDecision } from "./klusterlet-event.ts";

/** The commands with which an approver makes the pending decisions on the hub: one command for all, or one for each. */
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

/** The next step after a denied request: the denial is final, and the agent creates another request only when an approver has deleted it. */
export function deniedRequestStep(request: string): string {
  return `To let the agent request another certificate, delete that request on the hub: kubectl delete csr ${request}`;
}
