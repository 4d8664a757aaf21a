import type { CelFunction } from "../cel/environment.ts";
import { boolType, listType, mapType, stringType, type CelType } from "../cel/types.ts";
import { celFailure, type CelOpaque, type CelValue } from "../cel/values.ts";
import { parseGoUrl, type GoUrl } from "./go-url.ts";
import { libraryType } from "./library-type.ts";
import { textCost } from "./text-cost.ts";

const url = libraryType<GoUrl>("kubernetes.URL", (one, other) => one.identity === other.identity);

/** URLs: `url('https://a/b')` and its parts. Source: apiserver cel/library urls. */
export const urlFunctions: readonly CelFunction[] = [
  {
    name: "url",
    overloads: [
      {
        args: [stringType],
        result: url.type,
        cost: textCost,
        apply: (text: string) => {
          const parsed = parseGoUrl(text);
          return "problem" in parsed
            ? celFailure(`URL parse error during conversion from string: ${parsed.problem}`)
            : url.wrap(parsed.url);
        },
      },
    ],
  },
  {
    name: "isURL",
    overloads: [
      { args: [stringType], result: boolType, cost: textCost, apply: (text: string) => "url" in parseGoUrl(text) },
    ],
  },
  part("getScheme", stringType, ({ scheme }) => scheme),
  part("getHost", stringType, ({ host }) => host),
  part("getHostname", stringType, ({ hostname }) => hostname),
  part("getPort", stringType, ({ port }) => port),
  part("getEscapedPath", stringType, ({ path }) => path),
  // Keys are chosen by others; entries that are defined, as here, cannot replace the prototype.
  part("getQuery", mapType(stringType, listType(stringType)), ({ query }) => Object.fromEntries(query)),
];

function part(name: string, result: CelType, answer: (one: GoUrl) => CelValue): CelFunction {
  return {
    name,
    member: true,
    overloads: [{ args: [url.type], result, apply: (one: CelOpaque) => answer(url.unwrap(one)) }],
  };
}
