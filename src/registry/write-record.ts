import type { Authorizer, Decision } from "../authorization/authorizer.ts";
import type { ResourceRef } from "../client/client.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { RequestContext } from "./context.ts";

/** One write of a client inside the hub, as the audit log learns of it before it is authorized. */
export interface ClientWrite {
  readonly user: UserInfo;
  readonly verb: "create" | "update" | "patch" | "delete" | "deletecollection";
  readonly resource: ResourceRef;
  readonly namespace: string;
  /** Empty for a create. */
  readonly name: string;
  readonly subresource: string;
  /** What is sent: an object, a patch, or DeleteOptions. */
  readonly sent: unknown;
}

/** The audit events of one write. */
export interface WriteRecord {
  readonly decided: (decision: Decision) => void;
  readonly annotate: RequestContext["annotate"];
  /** Called once, with what was answered. */
  readonly succeeded: (answer: unknown) => void;
  /** Called once instead, with what was thrown. */
  readonly failed: (error: unknown) => void;
}

/** Begins the record of a write; undefined where the audit policy records nothing of it. */
export type RecordWrite = (write: ClientWrite) => WriteRecord | undefined;

/** What a write needs to be recorded. */
export interface Recorded {
  readonly authorizer: Authorizer;
  readonly annotate: RequestContext["annotate"];
}

const unrecorded = (): void => undefined;

/** Does a write under `authorizer`, and records how it ends. */
export async function recorded<T>(
  { begin, authorizer }: { readonly begin: RecordWrite | undefined; readonly authorizer: Authorizer },
  write: ClientWrite,
  act: (call: Recorded) => Promise<T>,
): Promise<T> {
  const record = begin?.(write);
  if (record === undefined) return act({ authorizer, annotate: unrecorded });
  const { annotate, decided, succeeded, failed } = record;
  const observed: Authorizer = async (attributes) => {
    const decision = await authorizer(attributes);
    decided(decision);
    return decision;
  };
  let result: T;
  try {
    result = await act({ authorizer: observed, annotate });
  } catch (error) {
    failed(error);
    throw error;
  }
  succeeded(result);
  return result;
}
