import { header, type Incoming, type Query } from "./http-types.ts";

/** How the user agents begin behind which a person sits. Source: apiserver pkg/endpoints/handlers/negotiation isPrettyPrint. */
const interactiveClients = /^(?:curl|Wget|Mozilla\/5\.0)/;

/** Whether JSON is to be indented: as the query says, else for tools that show it to a person. */
export function prettyWanted(request: Incoming, query: Query): boolean {
  const asked = query.get("pretty") ?? "";
  if (asked !== "") return asked === "true" || asked === "1";
  return interactiveClients.test(header(request, "user-agent") ?? "");
}
