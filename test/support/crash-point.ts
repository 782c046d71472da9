import { Database } from 'bun:sqlite';
import { writeSync } from 'node:fs';
import { Dial } from '../../src/providers/connection/dial.ts';

/** For files that are preloaded before `src/main.ts`: they stand at the calls between the real parts,
 * and nothing in `src/` knows of them. */
export interface CrashPoint {
  readonly wanted: string;
  /** True at the passage of a point that is to be the last. */
  isLast(point: string): boolean;
  die(): void;
  /** Dies here, where this is the last passage. */
  pass(point: string): void;
}

/**
 * @param setting the name of a variable such as `settle-before-commit:17`: the point, and its passage from 1
 * @param descriptor where the death is told
 */
export function crashPoint(setting: string, descriptor: 1 | 2, counts = (_: string) => true): CrashPoint {
  const [wanted = '', count = '1'] = (process.env[setting] ?? '').split(':');
  let left = Number(count);
  const isLast = (point: string) => point === wanted && counts(point) && --left === 0;
  const die = () => {
    // The reader must be able to tell this death from every other.
    writeSync(descriptor, `killed at ${wanted}\n`);
    process.kill(process.pid, 'SIGKILL');
  };
  return {
    wanted,
    isLast,
    die,
    pass(point) {
      if (isLast(point)) die();
    },
  };
}

/** What is heard of the store. */
export interface StatementWatch {
  /** A transaction begins. */
  begun(): void;
  /** A statement of it was run. */
  ran(sql: string, params: readonly unknown[]): void;
  /** Before the commit; returns what is done after it. */
  commits(): () => void;
}

/** Stands before and behind every statement that the store runs. */
export function watchStatements({ begun, ran, commits }: StatementWatch): void {
  const prepare = Database.prototype.prepare;
  function watched(this: Database, ...args: Parameters<typeof prepare>): ReturnType<typeof prepare> {
    const statement = Reflect.apply(prepare, this, args);
    const [sql] = args;
    const run = statement.run.bind(statement);
    statement.run = (...params) => {
      const committed = sql === 'COMMIT' ? commits() : null;
      const changes = run(...params);
      if (committed) committed();
      else if (sql === 'BEGIN IMMEDIATE') begun();
      else ran(sql, params);
      return changes;
    };
    return statement;
  }
  Object.defineProperty(Database.prototype, 'prepare', { value: watched });
}

/** Hears of every call of a provider, behind it. */
export function watchCalls(called: () => void): void {
  const { post } = Dial.prototype;
  Dial.prototype.post = function (...args) {
    const answer = post.apply(this, args);
    called();
    return answer;
  };
}
