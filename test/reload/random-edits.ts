import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { hashOf, type PolicyBundle, PolicySourceError, readBundle } from '../../src/policy/runtime/source.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';

const registry = createRegistry(shipped);
const env = { get: (name: string) => (UPSTREAM_ENV as Record<string, string>)[name] };

/** A policy folder with random edits, and all its revisions so far. */
export class RandomEdits {
  /** Maps each revision to the model that must serve under it: the model with the best quality. */
  readonly valid = new Map<string, string>();
  readonly kinds = new Map<string, number>();
  readonly #folder: string;
  readonly #random: () => number;
  readonly #base: string;
  #generation = 0;

  constructor(folder: string, upstream: string, random: () => number) {
    this.#folder = folder;
    this.#random = random;
    // Without a margin, the model of the best quality is chosen.
    const byQuality = 'selectors: { auto: { strategy: auto, options: { margin: 0, strong_margin: 0 } } }\n';
    this.#base = testPolicy({ first: upstream }, { base: { endpoints: ['first'], quality: 0.1 } }) + byQuality;
  }

  /** Creates the folder: a plain file, a file to add and remove, and a file that a ConfigMap's link points to. */
  async layOut(): Promise<void> {
    this.#write('base.yaml', this.#base);
    this.#write('models.yaml', this.#models());
    this.#generation++;
    mkdirSync(this.#path('..v0'));
    this.#write('..v0/linked.yaml', this.#models());
    symlinkSync('..v0', this.#path('..data'));
    symlinkSync('..data/linked.yaml', this.#path('linked.yaml'));
    await this.state();
  }

  /** Makes a random edit with its pauses. Returns the revision of the new state; null for none. */
  async edit(): Promise<string | null> {
    const kinds = Object.keys(EDITS) as (keyof typeof EDITS)[];
    const kind = kinds[Math.floor(this.#random() * kinds.length)]!;
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1);
    this.#generation++;
    await EDITS[kind](this);
    return this.state();
  }

  /** Records and returns the revision of the current folder; null if the folder cannot be served. */
  async state(): Promise<string | null> {
    try {
      return this.#revisionOf(await readBundle(this.#folder));
    } catch (error) {
      if (error instanceof PolicySourceError) return null;
      throw error;
    }
  }

  #revisionOf({ files }: Pick<PolicyBundle, 'files'>): string | null {
    const { snapshot } = loadPolicy(files, { env, ...registry, revisionOf: hashOf });
    if (!snapshot) return null;
    const [best] = [...snapshot.models].sort((a, b) => b.quality[0]! - a.quality[0]!);
    this.valid.set(snapshot.revision, best!.id);
    return snapshot.revision;
  }

  /** A file that is written in place is empty for a moment, and an empty file may be a valid policy. */
  async writeInPlace(name: string, text: string): Promise<void> {
    const before = existsSync(this.#path(name));
    if (before) {
      this.#write(name, '');
      await this.state();
    }
    this.#write(name, text);
    await this.state();
  }

  async replace(name: string, text: string): Promise<void> {
    this.#write(`.${name}.swp`, text);
    renameSync(this.#path(`.${name}.swp`), this.#path(name));
    await this.state();
  }

  async remove(name: string): Promise<void> {
    rmSync(this.#path(name), { recursive: true, force: true });
    await this.state();
  }

  rename(from: string, to: string): void {
    if (existsSync(this.#path(from))) renameSync(this.#path(from), this.#path(to));
  }

  swap(text: string): void {
    const at = `..v${this.#generation}`;
    mkdirSync(this.#path(at));
    this.#write(`${at}/linked.yaml`, text);
    symlinkSync(at, this.#path('..data_tmp'));
    renameSync(this.#path('..data_tmp'), this.#path('..data'));
  }

  /** Returns a new catalog with another best model. */
  models(): string {
    return this.#models();
  }

  async pause(ms: number): Promise<void> {
    await Bun.sleep(this.#random() * ms);
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!;
  }

  #models(): string {
    const quality = (0.2 + this.#random() * 0.7).toFixed(6);
    return `models:
  model-${this.#generation}:
    provider: first
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 8192
    latency: { ttft_ms: 100, output_tokens_per_second: 100, basis: guessed }
    quality: { default: ${quality}, basis: guessed }
`;
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  #write(name: string, text: string): void {
    writeFileSync(this.#path(name), text);
  }
}

const BROKEN: readonly ((text: string) => string)[] = [
  (text) => text.replace('context_window', 'contxt_window'),
  (text) => text.replace('provider: first', 'provider: nobody'),
  (text) => `${text}\n\tmore: [`,
  (text) => text.replace('quality: {', 'quality: {{'),
  (text) => text.replace('max_output: 8192', 'max_output: many'),
  (text) => `${text}alerts: []\n`,
];

const EDITS = {
  'in place': (edits: RandomEdits) => edits.writeInPlace('models.yaml', edits.models()),
  renamed: (edits: RandomEdits) => edits.replace('models.yaml', edits.models()),
  invalid: (edits: RandomEdits) => edits.replace('models.yaml', edits.pick(BROKEN)(edits.models())),
  async partial(edits: RandomEdits) {
    const text = edits.models();
    await edits.writeInPlace('models.yaml', text.slice(0, Math.floor(text.length * edits.pick([0.2, 0.5, 0.8]))));
    await edits.pause(250);
    await edits.writeInPlace('models.yaml', text);
  },
  added: (edits: RandomEdits) => edits.replace('more.yml', edits.models()),
  deleted: (edits: RandomEdits) => edits.remove(edits.pick(['more.yml', 'more.yml', 'models.yaml'])),
  async moved(edits: RandomEdits) {
    edits.rename('more.yml', 'other.yaml');
    await edits.state();
    edits.rename('other.yaml', 'more.yml');
  },
  async swapped(edits: RandomEdits) {
    edits.swap(edits.pick([edits.models(), edits.models(), 'models: []\n']));
  },
  async several(edits: RandomEdits) {
    await edits.replace('models.yaml', edits.models());
    await edits.remove('more.yml');
    await edits.pause(30);
  },
} as const satisfies Record<string, (edits: RandomEdits) => Promise<void>>;
