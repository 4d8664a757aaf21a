/** Bounds the bytes that are encoded for clients and not sent yet, over all answers of one port. */
export interface SendBuffers {
  readonly open: (options: SendBufferOptions) => SendBuffer;
  /** Encoded bytes that wait for a client now, and those that are reserved for what is being encoded. */
  readonly bytes: () => number;
  /** How many answers were ended because their client read nothing for a minute. */
  readonly abandoned: () => number;
}

export interface SendBufferOptions {
  /** The user that the answer is for, over all its connections. */
  readonly flow: string;
  /** Ends an answer of which the client reads nothing. */
  readonly abandon: () => void;
}

/** The share of one answer. */
export interface SendBuffer {
  /** How many bytes of this answer may be queued on its connection; at least 16 KiB. */
  readonly window: () => number;
  /** Counts bytes as waiting. */
  readonly add: (bytes: number) => void;
  /** Counts bytes as sent, which is the progress of this answer. */
  readonly remove: (bytes: number) => void;
  /** Counts bytes that are about to be encoded, where there is room for them; up to 16 KiB always are. */
  readonly tryReserve: (bytes: number) => boolean;
  /** The same once there is room; `closed` where the answer ended before. */
  readonly reserve: (bytes: number) => Promise<"reserved" | "closed">;
  /** Whether the answer has ended, for example because its client disconnected; encoding for it is useless. */
  readonly isClosed: () => boolean;
  /** Releases all counted bytes; nothing is counted after that. */
  readonly close: () => void;
}

export interface SendBufferLimits {
  /** Of one answer, in bytes, while there is room. Default 262144 (256 KiB). */
  readonly windowBytes: number;
  /** What every answer may have, in bytes. Default 16384 (16 KiB). */
  readonly smallBytes: number;
  /** Of one user, in bytes. Default 12582912 (12 MiB). */
  readonly maxFlowBytes: number;
  /** Of all users, in bytes. Default 67108864 (64 MiB). */
  readonly maxBytes: number;
  /** How often progress is checked, in milliseconds. Default 10000 (10 seconds). */
  readonly checkMs: number;
  /** After how many checks without progress an answer is ended. Default 6. */
  readonly maxIdleChecks: number;
}

const defaults: SendBufferLimits = {
  windowBytes: 256 * 1024,
  smallBytes: 16 * 1024,
  maxFlowBytes: 12 * 1024 * 1024,
  maxBytes: 64 * 1024 * 1024,
  checkMs: 10_000,
  maxIdleChecks: 6,
};

interface Answer {
  readonly flow: Flow;
  readonly abandon: () => void;
  bytes: number;
  /** Checks since the last progress. */
  idleChecks: number;
  isClosed: boolean;
}

interface Flow {
  bytes: number;
  answers: number;
}

interface Waiter {
  readonly answer: Answer;
  readonly bytes: number;
  readonly settle: (result: "reserved" | "closed") => void;
}

/** Calls `run` again and again after so many milliseconds, until the returned function is called. */
export type Every = (ms: number, run: () => void) => () => void;

/** The answers of which bytes wait. */
interface ProgressChecks {
  readonly add: (answer: Answer) => void;
  readonly delete: (answer: Answer) => void;
  readonly abandoned: () => number;
}

/** Checks answers while there are any, and abandons those without progress. */
function progressChecks(
  every: Every,
  { checkMs, maxIdleChecks }: Pick<SendBufferLimits, "checkMs" | "maxIdleChecks">,
): ProgressChecks {
  const sending = new Set<Answer>();
  let abandoned = 0;
  let stop: (() => void) | undefined;
  const check = (): void => {
    for (const answer of sending) {
      answer.idleChecks += 1;
      if (answer.idleChecks < maxIdleChecks) continue;
      abandoned += 1;
      sending.delete(answer);
      answer.abandon();
    }
    if (sending.size > 0) return;
    stop?.();
    stop = undefined;
  };
  return {
    abandoned: () => abandoned,
    add: (answer) => {
      sending.add(answer);
      stop ??= every(checkMs, check);
    },
    delete: (answer) => void sending.delete(answer),
  };
}

interface WaitingBytes {
  readonly total: () => number;
  readonly add: (answer: Answer, bytes: number) => void;
  readonly take: (answer: Answer, bytes: number) => void;
}

/** Counts the waiting bytes per answer, per flow and in total. */
function waitingBytes(sending: Pick<ReturnType<typeof progressChecks>, "add" | "delete">): WaitingBytes {
  let total = 0;
  return {
    total: () => total,
    add: (answer, bytes) => {
      if (answer.isClosed || bytes === 0) return;
      if (answer.bytes === 0) sending.add(answer);
      // Encoding is progress too: nothing is encoded while the client reads nothing.
      answer.idleChecks = 0;
      answer.bytes += bytes;
      answer.flow.bytes += bytes;
      total += bytes;
    },
    take: (answer, bytes) => {
      answer.bytes -= bytes;
      answer.flow.bytes -= bytes;
      answer.idleChecks = 0;
      total -= bytes;
      if (answer.bytes === 0) sending.delete(answer);
    },
  };
}

/** Initially without waiting bytes. Progress is checked only while bytes wait. */
export function sendBuffers(every: Every, limits: Partial<SendBufferLimits> = {}): SendBuffers {
  const { windowBytes, smallBytes, maxFlowBytes, maxBytes, checkMs, maxIdleChecks } = { ...defaults, ...limits };
  const flows = new Map<string, Flow>();
  const sending = progressChecks(every, { checkMs, maxIdleChecks });
  const waiters = new Set<Waiter>();
  const { total, add, take } = waitingBytes(sending);

  const isRoomFor = (flow: Flow, bytes: number): boolean =>
    bytes <= smallBytes || (total() + bytes <= maxBytes && flow.bytes + bytes <= maxFlowBytes);
  const remove = (answer: Answer, bytes: number): void => {
    if (answer.isClosed) return;
    take(answer, bytes);
    if (waiters.size > 0) admitWaiters();
  };
  const admitWaiters = (): void => {
    for (const waiter of waiters) {
      if (!isRoomFor(waiter.answer.flow, waiter.bytes)) continue;
      waiters.delete(waiter);
      add(waiter.answer, waiter.bytes);
      waiter.settle("reserved");
    }
  };
  const close = (name: string, answer: Answer): void => {
    if (answer.isClosed) return;
    remove(answer, answer.bytes);
    answer.isClosed = true;
    answer.flow.answers -= 1;
    if (answer.flow.answers === 0) flows.delete(name);
    for (const waiter of waiters) {
      if (waiter.answer === answer && waiters.delete(waiter)) waiter.settle("closed");
    }
  };
  const tryReserve = (answer: Answer, bytes: number): boolean => {
    if (!isRoomFor(answer.flow, bytes)) return false;
    add(answer, bytes);
    return true;
  };

  return {
    bytes: total,
    abandoned: sending.abandoned,
    open: ({ flow: name, abandon }) => {
      const flow = flows.get(name) ?? { bytes: 0, answers: 0 };
      flows.set(name, flow);
      flow.answers += 1;
      const answer: Answer = { flow, abandon, bytes: 0, idleChecks: 0, isClosed: false };
      return {
        window: () => (total() < maxBytes && flow.bytes < maxFlowBytes ? windowBytes : smallBytes),
        add: (bytes) => add(answer, bytes),
        remove: (bytes) => remove(answer, bytes),
        tryReserve: (bytes) => tryReserve(answer, bytes),
        reserve: (bytes) => {
          if (answer.isClosed) return Promise.resolve("closed");
          if (tryReserve(answer, bytes)) return Promise.resolve("reserved");
          return new Promise((settle) => void waiters.add({ answer, bytes, settle }));
        },
        isClosed: () => answer.isClosed,
        close: () => close(name, answer),
      };
    },
  };
}
