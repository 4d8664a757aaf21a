import type { Clock } from "../../apimachinery/clock.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { apiVersionOf } from "../../apimachinery/object.ts";
import type { ClientWrite, RecordWrite } from "../../registry/in-process-call.ts";
import type { YamlThread } from "../../serializer/yaml/yaml-thread.ts";
import type { Reply } from "../http-types.ts";
import { addAnnotation, newProgress } from "../progress.ts";
import type { RequestInfo } from "../request-info.ts";
import type { Audit } from "./audit.ts";
import { auditTrail } from "./audit-trail.ts";

/** What the records of writes inside the hub are made with. */
export interface WriteAuditOptions {
  readonly audit: Audit;
  readonly yaml: YamlThread;
  readonly clock: Clock;
  readonly uuid: () => string;
  /** A fault while an event is written. */
  readonly fault: (error: unknown, auditId: string) => void;
}

/** Records writes inside the hub by the policy and with the events of requests over HTTP; they have no address and no user agent. */
export function writeAudit({ audit, yaml, clock, uuid, fault }: WriteAuditOptions): RecordWrite {
  return (write) => {
    const progress = newProgress(uuid(), clock.now());
    progress.info = infoOf(write);
    progress.user = write.user;
    const trail = auditTrail(audit, undefined, progress, () => yaml.of(write.user.username));
    trail.begin(progress.receivedAt);
    if (progress.audited === undefined) return undefined;
    trail.recordBody({ value: write.sent });
    const end = (reply: Reply): void => {
      progress.code = reply.status;
      trail.end(reply, clock.now()).catch((error: unknown) => fault(error, progress.auditId));
    };
    return {
      decided: (decision) => {
        progress.decision ??= decision;
      },
      annotate: (key, value) => addAnnotation(progress, key, value),
      succeeded: (answer) => end(replyOf(write.verb === "create" ? 201 : 200, answer)),
      failed: (error) => {
        if (error instanceof StatusError) progress.failure = error;
        else progress.faulted = true;
        end(replyOf(error instanceof StatusError ? error.code : 500, undefined));
      },
    };
  };
}

/** Only what the audit log reads of a reply; `plain` is called where the level records what was answered. */
function replyOf(status: number, answer: unknown): Reply {
  const reply = { status, contentType: "", body: "" };
  return answer === undefined ? reply : { ...reply, plain: () => answer };
}

function infoOf({ verb, resource, namespace, name, subresource }: ClientWrite): RequestInfo {
  const { group, version, plural } = resource;
  const path = [
    group === "" ? "/api" : "/apis",
    apiVersionOf(group, version),
    ...(namespace === "" ? [] : ["namespaces", encodeURIComponent(namespace)]),
    plural,
    ...(name === "" ? [] : [encodeURIComponent(name)]),
    ...(subresource === "" ? [] : [subresource]),
  ].join("/");
  return { isResource: true, verb, path, group, version, namespace, resource: plural, subresource, name };
}
