import type { Statement as Prepared } from 'bun:sqlite';
import type { SqlParam, SqlRow, SqlScript, SqlWrite } from '../sql/statement.ts';

/** Runs the steps of a script one after the other within the open transaction. */
export function runScript(script: SqlScript, prepare: (step: SqlWrite) => Prepared<unknown, SqlParam[]>): void {
  for (let step = script.next(); !step.done; ) {
    const rows = prepare(step.value).all(...step.value.params);
    // The creator of the script states the type of the rows. STRICT tables guarantee the column types.
    step = script.next(rows as SqlRow[]);
  }
}
