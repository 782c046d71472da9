import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  openSink,
  type Sink,
  type SinkOptions,
  systemWrite,
  type WriteCall,
} from '../../../src/host/telemetry/sink.ts';
import { tries } from '../../deep/effort.ts';
import { waitFor } from '../../support/answers.ts';
import { MAIN, temporaryFolder } from '../../support/signalbox.ts';

let folder: string;
let pipe: string;

beforeAll(() => {
  folder = temporaryFolder();
  pipe = join(folder, 'pipe');
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A real pipe whose reader reads as much as the test requests. */
function openPipe(options: SinkOptions = {}) {
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(pipe, constants.O_WRONLY);
  const parts: Buffer[] = [];
  const read = (bytes: number): boolean => {
    const buffer = Buffer.alloc(bytes);
    try {
      const count = readSync(reader, buffer, 0, bytes, null);
      parts.push(buffer.subarray(0, count));
      return count > 0;
    } catch {
      return false;
    }
  };
  return {
    sink: openSink(writer, options),
    read,
    leave: () => closeSync(reader),
    close: () => closeSync(writer),
    text: () => Buffer.concat(parts).toString(),
    /** Reads until every accepted line has arrived. */
    async readAll(sink: Sink): Promise<void> {
      let isDone = false;
      void sink.drain(10_000).then(() => {
        isDone = true;
      });
      do {
        while (read(65_536)) {}
        await Bun.sleep(1);
      } while (!isDone);
      while (read(65_536)) {}
    },
  };
}

type Writes = readonly (readonly number[])[];
type Reads = readonly (readonly [bytes: number, pauseMs: number])[];

const batches = fc.array(fc.array(fc.integer({ min: 0, max: 6_000 }), { minLength: 1, maxLength: 12 }), {
  minLength: 1,
  maxLength: 25,
});
const reads = fc.array(fc.tuple(fc.integer({ min: 1, max: 70_000 }), fc.integer({ min: 0, max: 2 })), {
  maxLength: 30,
});
const room = fc.integer({ min: 30_000, max: 400_000 });

/** Writes lines while a reader reads at any speed. Throws if a line is damaged or not accounted for. */
async function keepsLinesWhole(writes: Writes, readings: Reads, options: SinkOptions): Promise<void> {
  const { sink, read, readAll, text, leave, close } = openPipe(options);
  try {
    let count = 0;
    const lines: string[] = [];
    const steps = Math.max(writes.length, readings.length);
    for (let i = 0; i < steps; i++) {
      const batch = (writes[i] ?? []).map((length) => `${count++} ${'€𝄞x'.repeat(length / 3)}\n`);
      lines.push(...batch);
      if (batch.length > 0) sink.write(batch.join(''));
      const [bytes, pauseMs] = readings[i] ?? [1, 0];
      await Bun.sleep(pauseMs);
      read(bytes);
    }
    await readAll(sink);
    const arrived = text().split(/(?<=\n)/);
    let last = -1;
    for (const line of arrived.filter((one) => one !== '')) {
      const number = Number.parseInt(line, 10);
      expect(number).toBeGreaterThan(last);
      expect(line === lines[number]).toBe(true);
      last = number;
    }
    expect(arrived.filter((one) => one !== '').length + sink.lost).toBe(lines.length);
  } finally {
    leave();
    close();
  }
}

/** A system that accepts only some bytes in each write. */
const inParts =
  (most: number): WriteCall =>
  (fd, bytes, offset, length, done) =>
    systemWrite(fd, bytes, offset, Math.min(length, most), done);

const law = (change: (write: WriteCall) => WriteCall) =>
  fc.asyncProperty(batches, reads, room, fc.integer({ min: 500, max: 100_000 }), (writes, readings, bytesMax, most) =>
    keepsLinesWhole(writes, readings, { bytesMax, write: change(inParts(most)) }),
  );
/** The test makes few runs, because pipes are slow. */
const FEW = { numRuns: 60, endOnFailure: true };

/** Sinks with plausible mistakes. */
const MUTANTS: Readonly<Record<string, (write: WriteCall) => WriteCall>> = {
  'treats a partial write as complete': (write) => (fd, bytes, offset, length, done) =>
    write(fd, bytes, offset, length, (error) => done(error, length)),
  'counts characters instead of bytes': (write) => (fd, bytes, offset, length, done) =>
    write(fd, bytes, offset, length, (error, count) =>
      done(error, bytes.toString('utf8', offset, offset + count).length),
    ),
};

describe('a sink for log lines', () => {
  test('a sink delivers every line complete and in order, or counts it as dropped, at any speed of its reader', async () => {
    await fc.assert(
      law((write) => write),
      tries('a sink delivers every line whole and in order, or counts it as dropped', 25, 1_000),
    );
  });

  test.each(Object.entries(MUTANTS))('the law about sinks catches a sink that %s', async (_, mutant) => {
    expect((await fc.check(law(mutant), FEW)).failed).toBe(true);
  });

  test('a sink never blocks its writer on a stalled reader, and drops lines beyond its buffer', async () => {
    const { sink, text, readAll, leave, close } = openPipe({ bytesMax: 300_000 });
    const told: number[] = [];
    sink.onResume((lines) => told.push(lines));
    const line = `${'x'.repeat(999)}\n`;
    const begun = performance.now();
    for (let i = 0; i < 1_000; i++) {
      sink.write(line);
      if (i % 100 === 0) await Bun.sleep(1);
    }
    await sink.drain(50);
    expect(performance.now() - begun).toBeLessThan(8_000);
    expect(sink.lost).toBeGreaterThan(600);
    expect(told).toEqual([]);
    const lost = sink.lost;
    await readAll(sink);
    expect(text()).toBe(line.repeat(1_000 - lost));
    // The listener is called once, when there is room again.
    expect(told).toEqual([lost]);
    sink.write('again\n');
    await readAll(sink);
    expect(text()).toEndWith('x\nagain\n');
    leave();
    close();
  });

  test('a sink accepts lines again right after a line that exceeds its buffer', async () => {
    const { sink, text, readAll, leave, close } = openPipe({ bytesMax: 100 });
    sink.write(`${'x'.repeat(101)}\n`);
    await sink.drain(1_000);
    sink.write('short\n');
    await readAll(sink);
    expect([text(), sink.lost]).toEqual(['short\n', 1]);
    leave();
    close();
  });

  test('a sink counts all lines as dropped once its reader is gone', async () => {
    const { sink, leave, close } = openPipe();
    const line = `${'x'.repeat(9_999)}\n`;
    for (let i = 0; i < 20; i++) sink.write(line);
    await Bun.sleep(20);
    leave();
    await sink.drain(1_000);
    const lost = sink.lost;
    expect(lost).toBeGreaterThan(10);
    sink.write('one\ntwo\n');
    await sink.drain(1_000);
    sink.flushNow();
    expect(sink.lost).toBe(lost + 2);
    close();
  });

  test('a sink counts all lines as dropped if its descriptor is closed', async () => {
    const { sink, leave, close } = openPipe();
    leave();
    close();
    sink.write('one\n');
    await sink.drain(1_000);
    expect(sink.lost).toBe(1);
  });

  test('a sink retries on a full disk, and continues where it stopped', async () => {
    const file = join(folder, 'file');
    const fd = openSync(file, 'w');
    let isFull = false;
    const disk: WriteCall = (to, bytes, offset, length, done) => {
      if (isFull) done({ code: 'ENOSPC' }, 0);
      else inParts(5)(to, bytes, offset, length, done);
      isFull = !isFull;
    };
    const sink = openSink(fd, { write: disk });
    sink.write('the first\nthe second €\n');
    await sink.drain(5_000);
    expect([readFileSync(file, 'utf8'), sink.lost]).toEqual(['the first\nthe second €\n', 0]);
    closeSync(fd);
  });

  test('a sink drops no more lines than a real full disk has no room for', async () => {
    const fd = openSync('/dev/full', 'w');
    const sink = openSink(fd, { bytesMax: 10 });
    for (const line of ['one\n', 'two\n', 'three\n', 'four\n']) {
      sink.write(line);
      await Bun.sleep(1);
    }
    await sink.drain(50);
    expect(sink.lost).toBe(2);
    // A write of the loop that is in progress is not interrupted.
    await waitFor(() => {
      sink.flushNow();
      return sink.lost === 4;
    });
    closeSync(fd);
  });
});

describe('at the exit of the process, a sink', () => {
  /** A separate program that writes and exits. */
  const program = (body: string) => `
    import { openSink } from '${join(MAIN, '../host/telemetry/sink.ts')}';
    const sink = openSink(1);
    process.on('exit', () => sink.flushNow());
    ${body}`;
  const run = (body: string, command = '') => {
    const file = join(folder, 'program.ts');
    const script = `"$0" run "$1" ${command}`;
    return Bun.write(file, program(body)).then(() =>
      Bun.spawn(['sh', '-c', script, process.execPath, file], { stdout: 'pipe', stderr: 'inherit' }),
    );
  };

  test('at the exit of the process, a sink has written the last lines', async () => {
    for (const command of ['', '| cat', `> ${join(folder, 'out')}; cat ${join(folder, 'out')}`]) {
      const child = await run(`sink.write('one\\n'); sink.write('two\\n'); process.exit(0);`, command);
      expect(await new Response(child.stdout).text()).toBe('one\ntwo\n');
    }
  });

  test('at the exit of the process, a sink does not wait for a stalled reader', async () => {
    const bodies = [
      // The process is stuck in a write to a full pipe.
      `sink.write('x'.repeat(99_999) + '\\n'); await Bun.sleep(50); sink.write('last\\n'); process.exit(0);`,
      `for (let i = 0; i < 200; i++) sink.write('x'.repeat(999) + '\\n'); process.exit(0);`,
    ];
    for (const body of bodies) {
      const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
      const child = await run(body, `> ${pipe}`);
      expect(await Promise.race([child.exited, Bun.sleep(5_000).then(() => 'waits')])).toBe(0);
      closeSync(reader);
    }
  });

  test('a sink can be drained before the process exits', async () => {
    const child = await run(
      `sink.write(('x'.repeat(999) + '\\n').repeat(2_000)); await sink.drain(5_000); process.exit(sink.lost);`,
      '| (sleep 0.2; cat)',
    );
    expect((await new Response(child.stdout).text()).length).toBe(2_000_000);
    await waitFor(() => child.exitCode === 0);
  });
});
