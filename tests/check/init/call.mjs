import { readFileSync } from "node:fs";
import { handle } from "./quern-adapter.mjs";

handle(readFileSync(0, "utf8")).catch((reason) => {
  console.error("left:", reason.message);
  process.exitCode = 75;
});
