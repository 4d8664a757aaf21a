import { definitionRows } from "./definitions.ts";
import { deletes } from "./deletes.ts";
import { kinds } from "./kinds.ts";
import { patches } from "./patches.ts";
import { elsewhere } from "./paths.ts";
import { oddities, reads } from "./reads.ts";
import type { Row } from "./row.ts";
import { creates, updates } from "./writes.ts";

/** Every row. */
export const table: readonly Row[] = [
  ...kinds.flatMap((kind) => [creates, updates, patches, deletes, reads, oddities].flatMap((rowsOf) => rowsOf(kind))),
  ...definitionRows,
  ...elsewhere,
];
