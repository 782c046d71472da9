import { type FigureCodec, PartReader, PartWriter } from './codec.ts';
import type { WordEvidence } from './means.ts';
import {
  LearnedMemory,
  type ModelMemory,
  type OutcomeTally,
  OWNERS_MAX,
  outcomesPart,
  SHARED_PART,
  TASKS_PART,
  type TaskMemory,
  wordsPart,
} from './memory.ts';
import { BUCKETS } from './scanner.ts';
import type { WordWeights } from './weights.ts';

/** The parts that changed since the last call, or all; null for a part to delete. */
export function saveParts(
  memory: LearnedMemory,
  everything: boolean,
  installation: number,
): Map<string, Uint8Array | null> {
  const names = new Set(memory.changed);
  if (everything) {
    if (memory.tasks.size > 0) names.add(TASKS_PART);
    if (memory.shared) names.add(SHARED_PART);
    for (const id of memory.models.keys()) names.add(outcomesPart(id));
    for (const { id } of memory.owners) names.add(wordsPart(id));
  }
  memory.changed.clear();
  return new Map([...names].map((name) => [name, writePart(name, memory, installation)]));
}

function writePart(name: string, memory: LearnedMemory, installation: number): Uint8Array | null {
  const writer = new PartWriter(installation);
  if (name === TASKS_PART) return memory.tasks.size === 0 ? null : writeTasks(memory, writer);
  if (name === SHARED_PART) return memory.shared && writeWeights(memory.shared, writer);
  const { kind, id } = partKind(name);
  const model = memory.models.get(id);
  if (!model) return null;
  if (kind === 'outcomes') return writeModel(model, memory, writer);
  return model.own && writeWeights(model.own.weights, writer);
}

/**
 * Opens a memory from its parts.
 * @throws Error if one is damaged, or of another installation
 */
export function openParts(parts: ReadonlyMap<string, Uint8Array>, installation: number): LearnedMemory {
  const memory = new LearnedMemory();
  const readerOf = (name: string, bytes: Uint8Array): PartReader => new PartReader(name, bytes, installation);
  const models = [...parts].filter(([name]) => name !== TASKS_PART && name !== SHARED_PART);
  const kinds = models.map(([name, bytes]) => ({ name, bytes, ...partKind(name) }));
  const tasks = parts.get(TASKS_PART);
  // Parts refer to each other: models to the tasks, weights to the models' outcomes.
  const centres =
    tasks === undefined ? new Map<string, Float64Array>() : readTasks(memory, readerOf(TASKS_PART, tasks));
  for (const { name, bytes, id, kind } of kinds) if (kind === 'outcomes') readModel(id, memory, readerOf(name, bytes));
  for (const { name, bytes, id, kind } of kinds) {
    if (kind === 'outcomes') continue;
    const reader = readerOf(name, bytes);
    const model = memory.models.get(id);
    if (!model) throw reader.error(`has no part \`${outcomesPart(id)}\` beside it`);
    if (memory.owners.size === OWNERS_MAX) throw reader.error(`is one more than ${OWNERS_MAX} of its kind`);
    const own = memory.ownOf(model);
    readWeights(own.weights, reader);
    own.centres.set(centres.get(id) ?? []);
  }
  const shared = parts.get(SHARED_PART);
  if (shared !== undefined) readWeights(memory.sharedWeights(), readerOf(SHARED_PART, shared));
  memory.changed.clear();
  return memory;
}

function partKind(name: string): { kind: 'outcomes' | 'words'; id: string } {
  const colon = name.indexOf(':');
  const kind = name.slice(0, colon);
  if (kind !== 'outcomes' && kind !== 'words') {
    throw new Error(
      `\`${name}\` is no part of what was learnt: a part is \`${TASKS_PART}\`, \`${SHARED_PART}\`, \`outcomes:<model>\` or \`words:<model>\``,
    );
  }
  return { kind, id: name.slice(colon + 1) };
}

function writeTasks(memory: LearnedMemory, writer: PartWriter): Uint8Array {
  passHead(memory, writer);
  const tasks = [...memory.tasks.values()];
  writer.u32(tasks.length);
  for (const task of tasks) {
    writer.text(task.name);
    passTask(task, writer);
  }
  writer.u32(memory.owners.size);
  for (const { id, own } of memory.owners) {
    writer.text(id);
    for (const { index } of tasks) writer.f64(own?.centres[index] ?? 0);
  }
  return writer.finish();
}

/** Returns the running means of models' own weights, by model and task. */
function readTasks(memory: LearnedMemory, reader: PartReader): Map<string, Float64Array> {
  passHead(memory, reader);
  const count = reader.u32();
  for (let at = 0; at < count; at++) {
    const task = memory.addTask(reader.text());
    if (task.index !== at) throw reader.error('has a task twice, or too many');
    passTask(task, reader);
  }
  const centres = new Map<string, Float64Array>();
  for (let left = reader.u32(); left > 0; left--) {
    const id = reader.text();
    centres.set(
      id,
      Float64Array.from({ length: count }, () => reader.f64()),
    );
  }
  reader.end();
  return centres;
}

function writeModel(model: ModelMemory, memory: LearnedMemory, writer: PartWriter): Uint8Array {
  writer.f64(model.lastTaught);
  passTally(model.all, writer);
  const tallies = [...memory.tasks.values()].flatMap(({ name, index }) => {
    const tally = model.tasks[index];
    return tally ? [{ name, tally }] : [];
  });
  writer.u32(tallies.length);
  for (const { name, tally } of tallies) {
    writer.text(name);
    passTally(tally, writer);
  }
  return writer.finish();
}

function readModel(id: string, memory: LearnedMemory, reader: PartReader): void {
  const model = memory.addModel(id);
  model.lastTaught = reader.mass();
  passTally(model.all, reader);
  for (let left = reader.u32(); left > 0; left--) {
    const name = reader.text();
    const task = memory.tasks.get(name);
    if (!task) throw reader.error(`speaks of the task \`${name}\`, which the part \`${TASKS_PART}\` does not have`);
    passTally(memory.tallyOf(model, task), reader);
  }
  reader.end();
}

function passHead(memory: LearnedMemory, codec: FigureCodec): void {
  memory.clock = codec.mass(memory.clock);
  passEvidence(memory.evidence, codec);
}

function passTask(task: TaskMemory, codec: FigureCodec): void {
  task.lastUsed = codec.mass(task.lastUsed);
  task.requests = codec.mass(task.requests);
  task.length = codec.f64(task.length);
  task.shared = codec.f64(task.shared);
  passEvidence(task.evidence, codec);
}

function passTally(tally: OutcomeTally, codec: FigureCodec): void {
  tally.mass = codec.mass(tally.mass);
  tally.sum = codec.f64(tally.sum);
  tally.count = codec.mass(tally.count);
}

function passEvidence({ shared, own }: WordEvidence, codec: FigureCodec): void {
  for (const evidence of [shared, own]) {
    evidence.hit = codec.f64(evidence.hit);
    evidence.spread = codec.mass(evidence.spread);
  }
}

/** Version 0.1 kept the weights of 23 figures of a text's form before those of its words. */
const FORM_FIGURES = 23;

/** The weights of the buckets that occurred. */
function writeWeights(weights: WordWeights, writer: PartWriter): Uint8Array {
  writer.skip(FORM_FIGURES * 8);
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const mean = weights.mean(bucket);
    const added = weights.added[bucket]!;
    if (mean !== 0 || added !== 0) writer.weight(bucket, mean, added);
  }
  return writer.finish();
}

function readWeights(weights: WordWeights, reader: PartReader): void {
  for (let at = 0; at < FORM_FIGURES; at++) reader.weight();
  while (!reader.isAtEnd) {
    const bucket = reader.u16();
    const { mean, added } = reader.weight();
    weights.set(bucket, mean, added);
  }
}
