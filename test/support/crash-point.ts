import { Database } from 'bun:sqlite';
import { writeSync } from 'node:fs';
import { Dial } from '../../src/providers/connection/dial.ts';

/**
 * Support for files that are preloaded before `src/main.ts`. The preloaded files intercept calls between the real parts of the program;
 * code in `src/` does not know about them.
 */
export interface CrashPoint {
  readonly wanted: string;
  /** True if the process is to be killed at this passage of the point. */
  isLast(point: string): boolean;
  die(): void;
  /** Kills the process if it is to be killed at this passage. */
  pass(point: string): void;
}

/**
 * @param setting the name of a variable such as `settle-before-commit:17`: the point, and the number of its passage from 1
 * @param descriptor the stream to which it writes that it kills the process
 */
export function crashPoint(setting: string, descriptor: 1 | 2, counts = (_: string) => true): CrashPoint {
  const [wanted = '', count = '1'] = (process.env[setting] ?? '').split(':');
  let left = Number(count);
  const isLast = (point: string) => point === wanted && counts(point) && --left === 0;
  const die = () => {
    // This line lets the reader distinguish this kill from every other exit.
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

/** Callbacks for the statements of the store. */
export interface StatementWatch {
  /** Called when a transaction begins. */
  begun(): void;
  /** Called after a statement of the transaction has run. */
  ran(sql: string, params: readonly unknown[]): void;
  /** Called before the commit; returns a function that is called after it. */
  commits(): () => void;
}

/** Calls a watch before and after every statement that the store runs. */
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

/** Calls `called` after each call of a provider. */
export function watchCalls(called: () => void): void {
  const { post } = Dial.prototype;
  Dial.prototype.post = function (...args) {
    const answer = post.apply(this, args);
    called();
    return answer;
  };
}
