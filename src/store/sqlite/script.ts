import type { Statement as Prepared } from 'bun:sqlite';
import type { SqlParam, SqlRow, SqlScript, SqlWrite } from '../sql/statement.ts';

/** Runs the steps of a script, one behind the other, within the transaction that is open. */
export function runScript(script: SqlScript, prepare: (step: SqlWrite) => Prepared<unknown, SqlParam[]>): void {
  for (let step = script.next(); !step.done; ) {
    const rows = prepare(step.value).all(...step.value.params);
    // The maker of the script states the rows; STRICT tables hold them to it.
    step = script.next(rows as SqlRow[]);
  }
}
