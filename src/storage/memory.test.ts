import { describeStore } from "../../test/kits/store.ts";
import { openMemory } from "./memory.ts";

describeStore("memory", { open: openMemory, histories: 200 });
