import { configureGlobal } from "fast-check";

// Every run sees the same cases, so that a failure belongs to a change and can be repeated. FC_SEED=<number> looks at others.
configureGlobal({ seed: Number(process.env["FC_SEED"] ?? 20261121) });
