import { createHook, executionAsyncId } from "node:async_hooks";
import { resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The way of one request. */
export interface RequestTrace {
  /** The source files on its call stacks, in the order in which it came to them. */
  readonly files: readonly string[];
  /** Members of lists that did not give the answer, and what they called: no files of the way. */
  readonly members: readonly string[];
  /** Whether the way ended at LMDB's put. */
  readonly isStored: boolean;
}

/** Each member of these lists is called with each request: such a list is one step of the way, however many it has. */
const calledInFull: ReadonlySet<string> = new Set(["admission/admission.ts"]);
/** Here the first answer ends the list: the member that was called last gave it and is on the way, the others are not. */
const endedByAnswer: ReadonlySet<string> = new Set(["authentication/union.ts", "authorization/chain.ts"]);

interface Call {
  readonly file: string;
  readonly name: string;
}

type Stack = readonly Call[];

const source = resolve(import.meta.dirname, "../../src") + sep;
const lmdbPut = `${sep}node_modules${sep}lmdb${sep}write.js`;

/**
 * Runs `request` and follows the connection that a server of this process accepts meanwhile: each promise, microtask and timer that is
 * made in its asynchronous context shows the call stack that made it, until LMDB's put is called. There must be no other traffic.
 */
export async function traceOf(request: () => Promise<void>): Promise<RequestTrace> {
  const stacks: Stack[] = [];
  const followed = new Set<number>();
  let isStored = false;
  const hook = createHook({
    init(id, type, trigger) {
      if (isStored) return;
      // A server's handle is the context of what it does with a connection; a socket that a client opens has none behind it.
      if (type === "TCPWRAP" && executionAsyncId() === 0 && trigger !== 0) followed.add(trigger).add(id);
      if (!followed.has(executionAsyncId())) return;
      followed.add(id);
      const stack = callStack();
      isStored = stack.some(({ file }) => file.endsWith(lmdbPut));
      // What a library makes for itself, as the timer of a reader of LMDB, is no step of ours.
      if (isStored || (continuations.has(type) && stack.at(-1)?.file.startsWith(source) === true))
        stacks.push(ours(stack));
    },
  });
  hook.enable();
  try {
    await request();
  } finally {
    hook.disable();
  }
  return { ...wayOf(stacks), isStored };
}

const continuations: ReadonlySet<string> = new Set(["PROMISE", "Microtask", "Timeout", "Immediate", "TickObject"]);

function ours(stack: Stack): Stack {
  return stack
    .filter(({ file }) => file.startsWith(source))
    .map(({ file, name }) => ({ file: file.slice(source.length).split(sep).join("/"), name }));
}

function wayOf(stacks: readonly Stack[]): Pick<RequestTrace, "files" | "members"> {
  const steps = stacks.map((stack) =>
    stack.slice(
      0,
      firstMember(stack, ({ file }) => calledInFull.has(file)),
    ),
  );
  const answering = new Map<string, string>();
  for (const stack of steps) for (const [list, member] of listsIn(stack)) answering.set(list, keyOf(member));
  const way = steps.map((stack) => {
    const inVain = listsIn(stack).find(([list, member]) => answering.get(list) !== keyOf(member));
    return inVain === undefined ? stack : stack.slice(0, stack.indexOf(inVain[1]));
  });
  const files = new Set(way.flat().map(({ file }) => file));
  const members = stacks
    .flat()
    .map(({ file }) => file)
    .filter((file) => !files.has(file));
  return { files: [...files], members: [...new Set(members)] };
}

/** The lists that end with an answer on a stack, the outermost first, each with the member that it has called. */
function listsIn(stack: Stack): readonly (readonly [string, Call])[] {
  return stack.flatMap((call, index) => {
    const list = stack[index - 1]?.file ?? "";
    if (!endedByAnswer.has(list) || call.file === list) return [];
    // One list may be a member of another of the same file.
    const depth = stack.filter(({ file }, at) => at < index && file === list && stack[at + 1]?.file !== list).length;
    return [[`${list} ${depth}`, call] as const];
  });
}

/** Where the calls of a stack leave the first list for a member of it; the end of the stack without one. */
function firstMember(stack: Stack, isList: (call: Call) => boolean): number {
  const list = stack.findIndex(isList);
  const member = stack.findIndex(({ file }, index) => list !== -1 && index > list && file !== stack[list]?.file);
  return member === -1 ? stack.length : member;
}

function keyOf({ file, name }: Call): string {
  return `${file} ${name}`;
}

/** The calls that are under way, the outermost first, without those of Node. */
function callStack(): Stack {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = Number.POSITIVE_INFINITY;
  Error.prepareStackTrace = (_error, calls) =>
    calls.map((call) => ({ file: pathOf(call.getFileName() ?? ""), name: call.getFunctionName() ?? "" }));
  try {
    const stack = new Error("where").stack as unknown as Stack;
    return stack.filter(({ file }) => file.startsWith(sep) && file !== here).toReversed();
  } finally {
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  }
}

const here = fileURLToPath(import.meta.url);

function pathOf(name: string): string {
  return (name.startsWith("file:") ? fileURLToPath(name) : name).replace(/\?.*$/, "");
}
