/** Chooses at random, from a seed: the same seed makes the same choices. */
export interface Chance {
  /** An integer from 0, below this. */
  below(limit: number): number;
  /** Whether something happens that does so many times in a hundred. */
  percent(chance: number): boolean;
  one<T>(items: readonly T[]): T;
}

/** The generator mulberry32. */
export function chanceFrom(seed: number): Chance {
  let state = seed >>> 0;
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * limit);
  };
  return {
    below,
    percent: (chance) => below(100) < chance,
    one: <T>(items: readonly T[]): T => {
      const found = items[below(items.length)];
      if (found === undefined) throw new TypeError("nothing to choose from");
      return found;
    },
  };
}

/** A policy and what it is asked with. */
export interface GeneratedPolicy {
  readonly module: string;
  /** Whether it has something in it that OPA mostly refuses. */
  readonly isOdd: boolean;
  readonly input: unknown;
}

/** Writes a policy for a package, and an input. */
export function generatePolicy(name: string, chance: Chance): GeneratedPolicy {
  const hasLogic = chance.percent(25);
  const count = 1 + chance.below(4);
  const writer: Writer = { chance, hasLogic, known: [], counter: 0 };
  const rules: string[] = [];
  for (let at = 0; at < count; at++) {
    const { text, rule } = ruleOf(`r${at}`, writer);
    rules.push(text);
    writer.known.push(rule);
  }
  const isOdd = chance.percent(10);
  if (isOdd)
    rules.push(...(chance.percent(60) ? [`m if { ${chance.one(oddities)} }`] : ["m := 1", chance.one(oddRules)]));
  const head = hasLogic ? [`package ${name}`, "import rego.v2"] : [`package ${name}`];
  // What goes through a function has no type that could be known before evaluation.
  const dynamic = "id(x) := x";
  const input = documentOf(chance, 0);
  return { isOdd, input, module: `${[...head, dynamic, ...rules].join("\n\n")}\n` };
}

/** Expressions of which OPA refuses most. */
const oddities = [
  "y == 1",
  "x := 1; x := 2",
  "x == 1; x := 1",
  "x = 1; x == 1",
  "not y == 1",
  "not input.a[_] == 1",
  "some x; x = input.a",
  "some x; input.b",
  "some x in input.a; some x in input.b",
  "every x in input.a { x := 1 }",
  "every x in input.a { y := x; y > 0 }",
  "every x, y in input.a { y > 0 }",
  "count(input.a, input.b, 1)",
  "count(input.a, 2)",
  "nowhere(input.a)",
  "input := 1",
  "data.p := 1",
  "x := input.a; [x, y] := input.b",
  "[x, y] := [y, 1]",
  "[1 | x := 1; x := 2]",
  "{x: y | y := input.a[x]}",
  "x = y; y = input.a",
  "x := y; y := input.a",
  "f(x) == 1",
  "id(m)",
  "input.a with input.b as y",
  "input.a with nowhere as 1",
  "input.a with data.x.y as 1 with input.c as 2",
  "count(input.a) > 0 with count as 3",
  "walk(input.a, [x, y]); y == 1",
  "[x, 1] = [2, y]; x > y",
  '{"a": x} = input.a; x',
  "x := {1, 2} & {2}; x[2]",
  "x := [y | y := input.a[_]]; x[0]",
  "a.b.c",
  "input.a.b == data.nowhere.c",
  "x := -input.a; x < 0",
  "1 in [1] == true",
  "(1, 2) in [2]",
  '$"{x}" == "1"; x := 1',
  '$"{y}" == "1"',
  '$"{input.a[_]}" == "1"',
];
const oddRules = [
  "n := 1 if true",
  "n := m",
  "n contains 1\n\nn := 2",
  "default n := 1\n\ndefault n := 2",
  "default n := input.a",
  "default n := [x | x := 1]",
  "n(x) := x\n\nn(x, y) := y",
  "n(x) := n(x)",
  "n(x) if x\n\nn(x) := 2 if not x\n\no := n(input.a)",
  "n[x] := 1 if x := input.a[_]",
  "n[x] := y if { some y, x in input.a }",
  "n[x].b contains y if { some x, y in input.a }",
  "n.a := 1\n\nn.b := 2 if input.a\n\nn[x] := 3 if { x := input.b }",
  "n := x if { x := input.a } else := y if { y := input.b } else := 3",
  "n contains x if { x := 1 } else := 2",
  "input := 3",
  'n.x := 1\n\nn := {"y": 2}',
  "n := 1\n\nn := 2",
  "n := 1 if input.a\n\nn := 2 if input.b",
  "n(input.a) := 1\n\no := n(false)",
  "n(input) := 1",
  "n(x) := 1\n\ndefault n(y) := 2",
  "n([x, _]) := x\n\no := n([1, 2])",
  'n({"a": x}) := x\n\no := n(input)',
  "n if { input.a }\n\nn if { input.b }",
  "n := {x | walk(input, [_, x]); is_number(x)}",
  "n := [path | walk(input, [path, 1])]",
  "n := x if { some x in input.a; x > 1 }",
  "n := input.a | {1}",
  "n if input.a == 1 or input.b",
  'n := $"{m} {input.a} {n}"',
  "n if not not input.a",
  "n if { input.a; }",
  "n := true if {}",
  "n if { some i; input.a[i] == i }",
  'n := object.get(input, ["a", "b"], "none")',
];

const keys = ["a", "b", "c", "d"];
const words = ["a", "b", "admin", "get", "pods", "", "é", "A.b"];

/** A document for `input`: an object whose keys the policies know. */
function documentOf(chance: Chance, depth: number): unknown {
  const entries = keys.filter(() => chance.percent(75)).map((key) => [key, jsonOf(chance, depth + 1)] as const);
  return Object.fromEntries(entries);
}

function jsonOf(chance: Chance, depth: number): unknown {
  const kind = chance.below(depth > 3 ? 5 : 9);
  if (kind === 0) return chance.percent(50);
  if (kind === 1) return null;
  if (kind <= 3) return numberOf(chance);
  if (kind === 4) return chance.one(words);
  if (kind <= 6) return Array.from({ length: chance.below(4) }, () => jsonOf(chance, depth + 1));
  return documentOf(chance, depth);
}

function numberOf(chance: Chance): number {
  return chance.percent(80) ? chance.below(6) - 1 : (chance.below(9) - 4) / 2;
}

interface Known {
  readonly name: string;
  readonly arity: number;
  /** Whether OPA knows its type before evaluation, and refuses what does not go with that. */
  readonly isTyped?: boolean;
}

interface Writer {
  readonly chance: Chance;
  readonly hasLogic: boolean;
  readonly known: Known[];
  counter: number;
}

/** The variables that may be used, in the order of their declaration. */
type Vars = readonly string[];

interface Body {
  readonly text: string;
  readonly vars: Vars;
}

function ruleOf(name: string, writer: Writer): { readonly text: string; readonly rule: Known } {
  const { chance } = writer;
  const rule: Known = { name, arity: 0 };
  const typed: Known = { ...rule, isTyped: true };
  const body = bodyOf(writer, [], 0);
  const value = (): string => `id(${termOf(writer, body.vars, 1)})`;
  switch (chance.below(9)) {
    case 0:
      return { rule, text: `${name} := id(${termOf(writer, [], 0)})` };
    case 1:
      return { rule: typed, text: `${name} if ${body.text}` };
    case 2:
      return { rule, text: `default ${name} := ${scalarOf(chance)}\n\n${name} := ${value()} if ${body.text}` };
    case 3:
      return {
        rule: typed,
        text: `${name} contains ${value()} if ${body.text}\n\n${name} contains ${scalarOf(chance)}`,
      };
    case 4:
      return { rule, text: `${name}[${value()}] := ${value()} if ${body.text}` };
    case 5: {
      const other = bodyOf(writer, [], 0);
      return {
        rule,
        text: `${name} := ${value()} if ${body.text} else := id(${termOf(writer, other.vars, 1)}) if ${other.text}`,
      };
    }
    case 6: {
      const within = bodyOf(writer, ["x"], 0);
      const text = `${name}(x) := id(${termOf(writer, within.vars, 1)}) if ${within.text}`;
      return { rule: { name, arity: 1 }, text };
    }
    case 7:
      return { rule: typed, text: `${name}.${chance.one(keys)}[${value()}] := ${value()} if ${body.text}` };
    default:
      return { rule, text: `${name} := ${value()} if ${body.text}\n\n${name} := ${scalarOf(chance)} if false` };
  }
}

/** A body in braces. */
function bodyOf(writer: Writer, outer: Vars, depth: number): Body {
  const { chance } = writer;
  let vars = outer;
  const lines: string[] = [];
  for (let count = 1 + chance.below(2); count > 0; count--) {
    const made = literalOf(writer, vars, depth);
    lines.push(made.text);
    vars = made.vars;
  }
  return { text: `{ ${lines.join("; ")} }`, vars };
}

function freshName(writer: Writer): string {
  writer.counter += 1;
  return `v${writer.counter}`;
}

const comparisons = ["==", "!=", "<", "<=", ">", ">=", "==", "=="];

interface Writing {
  readonly writer: Writer;
  readonly vars: Vars;
  readonly depth: number;
  /** A name that nothing has yet. */
  readonly name: string;
  readonly term: () => string;
  readonly test: () => string;
}

/** The shapes of a literal; the first ten may stand at any depth. */
const literalShapes: readonly ((writing: Writing) => Body)[] = [
  ({ test, vars }) => ({ text: test(), vars }),
  ({ test, vars }) => ({ text: test(), vars }),
  ({ name, term, vars }) => ({ text: `${name} := id(${term()})`, vars: [...vars, name] }),
  ({ name, writer, vars }) => ({ text: `some ${name} in ${collectionOf(writer, vars)}`, vars: [...vars, name] }),
  ({ name, writer, vars }) => {
    const key = freshName(writer);
    return { text: `some ${key}, ${name} in ${collectionOf(writer, vars)}`, vars: [...vars, key, name] };
  },
  ({ term, writer, vars }) => ({ text: `id(${term()}) in ${collectionOf(writer, vars)}`, vars }),
  ({ writer, vars }) => ({
    text: writer.chance.percent(50) ? refOf(writer, vars) : callOf(writer, vars, 1),
    vars,
  }),
  ({ name, writer, vars }) => ({ text: `${name} = ${collectionOf(writer, vars)}[_]`, vars: [...vars, name] }),
  ({ test, writer, vars }) => ({ text: `not ${writer.chance.percent(60) ? test() : refOf(writer, vars)}`, vars }),
  ({ name, term, writer, vars }) => {
    const other = freshName(writer);
    const right = writer.chance.percent(50) ? `[id(${term()}), id(${term()})]` : refOf(writer, vars);
    return { text: `[${name}, ${other}] = ${right}`, vars: [...vars, name, other] };
  },
  ({ name, depth, writer, vars }) => {
    const body = bodyOf(writer, [...vars, name], depth + 1);
    const used = body.text.replace("{", `{ id(${name}) != 9;`);
    return { text: `every ${name} in ${collectionOf(writer, vars)} ${used}`, vars };
  },
  ({ term, test, writer, vars }) => ({ text: `${test()} with input.${writer.chance.one(keys)} as ${term()}`, vars }),
  ({ name, term, writer, vars }) => ({
    text: `some ${name}; ${placeOf(writer, vars)}[${name}] == ${term()}`,
    vars: [...vars, name],
  }),
  ({ term, writer, vars }) => ({ text: `not ${refOf(writer, vars)} with input as ${term()}`, vars }),
];

const atAnyDepth = 10;
const withLogic = 16;

function literalOf(writer: Writer, vars: Vars, depth: number): Body {
  const { chance } = writer;
  const term = (): string => termOf(writer, vars, 1);
  const test = (): string => `id(${term()}) ${chance.one(comparisons)} ${term()}`;
  const name = freshName(writer);
  const shape = literalShapes[chance.below(depth > 1 ? atAnyDepth : withLogic)];
  if (shape !== undefined) return shape({ writer, vars, depth, name, term, test });
  return writer.hasLogic ? logicOf(writer, vars, depth) : { text: test(), vars };
}

function logicOf(writer: Writer, vars: Vars, depth: number): Body {
  const { chance } = writer;
  const operand = (): string =>
    chance.percent(30)
      ? bodyOf(writer, vars, depth + 1).text
      : `id(${termOf(writer, vars, 1)}) ${chance.one(comparisons)} ${termOf(writer, vars, 1)}`;
  const plain = (): string => `${refOf(writer, vars)} ${chance.one(comparisons)} ${scalarOf(chance)}`;
  switch (chance.below(5)) {
    case 0:
      return { text: `${plain()} or ${operand()}`, vars };
    case 1:
      return { text: `${plain()} and ${operand()} or ${operand()}`, vars };
    case 2:
      return { text: `not ${bodyOf(writer, vars, depth + 1).text}`, vars };
    case 3:
      return { text: `not (${plain()} or ${plain()})`, vars };
    default:
      return { text: `(${plain()} or ${operand()}) and ${plain()}`, vars };
  }
}

function scalarOf(chance: Chance): string {
  switch (chance.below(7)) {
    case 0:
      return "true";
    case 1:
      return "false";
    case 2:
      return "null";
    case 3:
      return JSON.stringify(chance.one(words));
    default:
      return String(numberOf(chance));
  }
}

function refOf(writer: Writer, vars: Vars): string {
  const { chance, known } = writer;
  const plain = known.filter(({ arity }) => arity === 0);
  const rules = plain.map(({ name, isTyped }) => (isTyped === true && chance.percent(80) ? `id(${name})` : name));
  const heads = ["input", "input", "input", ...rules, ...vars];
  let text = chance.one(heads);
  if (plain.some(({ name, isTyped }) => isTyped === true && name === text)) return text;
  for (let count = text === "input" ? 1 + chance.below(2) : chance.below(2); count > 0; count--)
    text +=
      text === "input" || chance.percent(80)
        ? `.${chance.one(keys)}`
        : `[${chance.percent(50) ? chance.below(3) : '"a"'}]`;
  return text;
}

/** Something that may have members: mostly of the input, whose type nobody knows before. */
function collectionOf(writer: Writer, vars: Vars): string {
  const { chance } = writer;
  if (chance.percent(70)) return refOf(writer, vars);
  const items = (): string => Array.from({ length: 1 + chance.below(3) }, () => termOf(writer, vars, 2)).join(", ");
  return chance.percent(50) ? `id([${items()}])` : `id({${items()}})`;
}

/** A reference that may be longer still. */
function placeOf(writer: Writer, vars: Vars): string {
  const text = refOf(writer, vars);
  return text === "input" ? "input.a" : text;
}

function termOf(writer: Writer, vars: Vars, depth: number): string {
  const { chance } = writer;
  const inner = (): string => termOf(writer, vars, depth + 1);
  switch (chance.below(depth > 2 ? 6 : 15)) {
    case 0:
    case 1:
      return scalarOf(chance);
    case 2:
    case 3:
      return refOf(writer, vars);
    case 4:
    case 5:
      return vars.length > 0 ? chance.one(vars) : refOf(writer, vars);
    case 6:
      return `[${inner()}, ${inner()}]`;
    case 7:
      return `{${inner()}, ${inner()}}`;
    case 8:
      return `{${JSON.stringify(chance.one(keys))}: ${inner()}, ${JSON.stringify(chance.one(words))}: ${inner()}}`;
    case 9:
      // OPA refuses references to variables of a comprehension around another.
      return `$"<{${refOf(writer, [])}}|{${vars.length > 0 ? chance.one(vars) : "1"}}>"`;
    case 10:
      return comprehensionOf(writer, vars, depth);
    default:
      return callOf(writer, vars, depth);
  }
}

function comprehensionOf(writer: Writer, vars: Vars, depth: number): string {
  const { chance } = writer;
  const name = freshName(writer);
  const within = [...vars, name];
  const body = `some ${name} in ${refOf(writer, vars)}; ${literalOf(writer, within, 2).text}`;
  switch (chance.below(3)) {
    case 0:
      return `[${termOf(writer, within, depth + 1)} | ${body}]`;
    case 1:
      return `{${termOf(writer, within, depth + 1)} | ${body}}`;
    default:
      return `{${name}: ${termOf(writer, within, depth + 1)} | ${body}}`;
  }
}

/** Functions and how many operands they take; all of these are references, whose types nobody knows before. */
const functions: readonly (readonly [string, number])[] = [
  ["count", 1],
  ["sum", 1],
  ["max", 1],
  ["min", 1],
  ["sort", 1],
  ["upper", 1],
  ["lower", 1],
  ["type_name", 1],
  ["is_string", 1],
  ["json.marshal", 1],
  ["to_number", 1],
  ["abs", 1],
  ["ceil", 1],
  ["round", 1],
  ["object.keys", 1],
  ["array.reverse", 1],
  ["trim_space", 1],
  ["strings.reverse", 1],
  ["concat", 2],
  ["contains", 2],
  ["startswith", 2],
  ["endswith", 2],
  ["split", 2],
  ["indexof", 2],
  ["array.concat", 2],
  ["object.union", 2],
  ["object.remove", 2],
  ["object.filter", 2],
  ["object.subset", 2],
  ["json.filter", 2],
  ["json.remove", 2],
  ["trim", 2],
  ["format_int", 2],
  ["numbers.range", 2],
  ["array.slice", 3],
  ["object.get", 3],
  ["replace", 3],
  ["substring", 3],
];
const operators = ["+", "-", "*", "%", "&", "|", "-", "+"];

function callOf(writer: Writer, vars: Vars, depth: number): string {
  const { chance, known } = writer;
  const operand = (): string => refOf(writer, vars);
  const own = known.filter(({ arity }) => arity === 1);
  if (own.length > 0 && chance.percent(25)) return `${chance.one(own).name}(${termOf(writer, vars, depth + 1)})`;
  if (chance.percent(25)) return `(${operand()} ${chance.one(operators)} ${operand()})`;
  if (chance.percent(10)) return `sprintf("%v %s %d", [${operand()}, ${operand()}, ${operand()}])`;
  const [name, arity] = chance.one(functions);
  return `${name}(${Array.from({ length: arity }, operand).join(", ")})`;
}
