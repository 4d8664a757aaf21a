import type { CelElement, CelExpression, CelNode } from "./ast.ts";
import type { CelChecked } from "./check.ts";
import type { CelResolvedCall } from "./checker.ts";
import { comprehensionStep } from "./comprehensions.ts";
import { converterFor, type Converter } from "./convert.ts";
import { binaryCall, dispatch } from "./dispatch.ts";
import type { CelEnvironment } from "./environment.ts";
import { charge, failStep, type Step } from "./frame.ts";
import {
  listStep,
  mapStep,
  messageStep,
  conditionalStep,
  equalityStep,
  inStep,
  integerOperators,
  integerStep,
  junctionStep,
  notStep,
  type IntegerOperator,
} from "./operators.ts";
import { fallbackStep, hasStep, indexStep, optionalIndexStep, selectStep, type Selection } from "./selection.ts";
import { dynType, type CelType } from "./types.ts";
import { celOptional, celTypeValue, kindOf, type CelOptional, type CelValue } from "./values.ts";

/** A variable of the environment that an expression uses. */
export interface Input {
  readonly name: string;
  readonly convert: Converter;
}

/** A compiled expression. The first slots of its frames are the inputs. */
export interface Steps {
  readonly run: Step;
  readonly inputs: readonly Input[];
  readonly slots: number;
}

/** The state of the compilation; shared by all nodes of one expression. */
export interface Compiler {
  readonly checked: CelChecked;
  readonly compile: (node: CelExpression, locals: Slots) => Step;
  /** A slot that no other step uses. */
  readonly newSlot: () => number;
}

/** The slots of the variables that macros declare. */
export type Slots = ReadonlyMap<string, number>;

/** Compiles a checked expression into steps. */
export function compileSteps(checked: CelChecked, environment: CelEnvironment): Steps {
  const names = checked.variables;
  const inputs = names.map((name): Input => ({
    name,
    convert: converterFor(environment.variables[name] ?? dynType),
  }));
  let slots = inputs.length;
  const compiler: Compiler = {
    checked,
    compile: (node, locals) => compilers[node.kind](compiler, node as never, locals),
    newSlot: () => slots++,
  };
  const globals = new Map(names.map((name, at) => [`.${name}`, at]));
  const run = compiler.compile(checked.root, globals);
  return { run, inputs, slots };
}

const compilers: {
  readonly [K in CelExpression["kind"]]: (compiler: Compiler, node: CelNode<K>, locals: Slots) => Step;
} = {
  literal:
    (_, { value }) =>
    () =>
      value,
  identifier: (compiler, node, locals) => reference(compiler, node, locals) ?? never,
  select: (compiler, node, locals) =>
    reference(compiler, node, locals) ?? selectStep(compiler.compile(node.operand, locals), selection(compiler, node)),
  has: (compiler, node, locals) => hasStep(compiler.compile(node.operand, locals), selection(compiler, node)),
  call,
  list: (compiler, node, locals) => constantList(node) ?? listStep(steps(compiler, node.elements, locals)),
  map: (compiler, node, locals) =>
    mapStep(
      steps(compiler, node.entries, locals).map((each) => ({ ...each, key: compiler.compile(each.key, locals) })),
    ),
  message: (compiler, node, locals) => messageStep(node.name, steps(compiler, node.fields, locals)),
  comprehension: comprehensionStep,
  bind,
  optionalMap,
};

/** Elements, entries or fields, each with the step of its value. */
function steps<T extends CelElement>(
  compiler: Compiler,
  elements: readonly T[],
  locals: Slots,
): readonly (T & { readonly step: Step })[] {
  return elements.map((each) => ({ ...each, step: compiler.compile(each.value, locals) }));
}

/** Unreachable: the checker rejects this. */
const never: Step = (frame) => failStep(frame, "no such overload");

function reference(compiler: Compiler, node: CelExpression, locals: Slots): Step | undefined {
  const found = compiler.checked.referenceOf(node);
  if (found === undefined) return undefined;
  const { name } = found;
  if (found.kind === "type") {
    const value = celTypeValue(name);
    return () => value;
  }
  const slot = locals.get(found.kind === "local" ? name : `.${name}`) ?? 0;
  return (frame) => {
    charge(frame, 1);
    return frame.slots[slot] ?? (frame.slots[slot] === null ? null : failStep(frame, `no such attribute(s): ${name}`));
  };
}

/** A list of literals is built once, and costs nothing at run time, as in Kubernetes; undefined for any other list. */
function constantList({ elements }: CelNode<"list">): Step | undefined {
  const values: CelValue[] = [];
  for (const { value, optional } of elements) {
    if (value.kind !== "literal" || optional) return undefined;
    values.push(value.value);
  }
  return () => values;
}

/** The JSON key of a selection, and the conversion of the member. */
function selection(compiler: Compiler, node: CelNode<"select" | "has">): Selection {
  const given = compiler.checked.typeOf(node.operand);
  const operand = given.kind === "optional" ? given.of : given;
  const field = operand.kind === "object" ? operand.fields.get(node.field) : undefined;
  return {
    field: node.field,
    key: field?.key ?? node.field,
    convert: converterFor(field?.type ?? memberType(operand)),
    optional: node.kind === "select" && node.optional,
    // An object that the expression created has the fields that the expression set.
    nullIsAbsent: operand.kind === "object" && operand.open !== true,
  };
}

function memberType(type: CelType): CelType {
  return type.kind === "map" ? type.value : type.kind === "list" ? type.element : { kind: "dyn" };
}

/** A call whose arguments are compiled. */
interface Call extends CelResolvedCall {
  readonly steps: readonly [Step, Step, Step];
  readonly all: readonly Step[];
  readonly convert: Converter;
}

const integer = (call: Call): Step =>
  integerStep(call.name as IntegerOperator, [call.steps[0], call.steps[1]], binaryCall(call.overloads));
const fallback = (call: Call): Step =>
  call.overloads[0]?.args[0]?.kind === "optional"
    ? fallbackStep(call.steps[0], call.steps[1], call.name === "orValue")
    : dispatch(call.overloads, call.all);

/** Operators and functions that may leave arguments unevaluated. All others are called by their overloads. */
const special: ReadonlyMap<string, (call: Call) => Step> = new Map<string, (call: Call) => Step>([
  ["_&&_", ({ steps }) => junctionStep(steps[0], steps[1], false)],
  ["_||_", ({ steps }) => junctionStep(steps[0], steps[1], true)],
  ["_?_:_", ({ steps }) => conditionalStep(...steps)],
  ["!_", ({ steps }) => notStep(steps[0])],
  ["_==_", ({ steps }) => equalityStep(steps[0], steps[1], true)],
  ["_!=_", ({ steps }) => equalityStep(steps[0], steps[1], false)],
  ["@in", ({ steps }) => inStep(steps[0], steps[1])],
  ["_[_]", ({ steps, convert }) => indexStep(steps[0], steps[1], convert)],
  ["_[?_]", ({ steps, convert }) => optionalIndexStep(steps[0], steps[1], convert)],
  ...integerOperators.map((name) => [name, integer] as const),
  ["or", fallback],
  ["orValue", fallback],
]);

function call(compiler: Compiler, node: CelNode<"call">, locals: Slots): Step {
  const found = compiler.checked.callOf(node);
  if (found === undefined) return never;
  const all = found.args.map((argument) => compiler.compile(argument, locals));
  const make = special.get(found.name);
  if (make === undefined) return dispatch(found.overloads, all);
  const [operand] = found.args;
  const given = operand === undefined ? dynType : compiler.checked.typeOf(operand);
  const convert = converterFor(memberType(given.kind === "optional" ? given.of : given));
  const [first = never, second = never, third = never] = all;
  return make({ ...found, all, steps: [first, second, third], convert });
}

function bind(compiler: Compiler, node: CelNode<"bind">, locals: Slots): Step {
  const value = compiler.compile(node.value, locals);
  const slot = compiler.newSlot();
  const body = compiler.compile(node.body, new Map(locals).set(node.variable, slot));
  return (frame) => {
    frame.slots[slot] = value(frame);
    return frame.slots[slot] === undefined ? undefined : body(frame);
  };
}

function optionalMap(compiler: Compiler, node: CelNode<"optionalMap">, locals: Slots): Step {
  const operand = compiler.compile(node.operand, locals);
  const slot = compiler.newSlot();
  const body = compiler.compile(node.body, new Map(locals).set(node.variable, slot));
  return (frame) => {
    const optional = operand(frame);
    if (optional === undefined) return undefined;
    if (kindOf(optional) !== "optional") return failStep(frame, "no such overload");
    charge(frame, 1);
    const { value } = optional as CelOptional;
    if (value === undefined) return optional;
    frame.slots[slot] = value;
    const result = body(frame);
    return result === undefined || node.flat ? result : celOptional(result);
  };
}
