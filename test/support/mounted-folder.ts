import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './signalbox.ts';

/** Files by name. */
type Files = Readonly<Record<string, string>>;

/**
 * A folder of a ConfigMap or Secret, written as the kubelet writes it: each version in a new folder, and one link that is switched to it.
 */
export class MountedFolder {
  readonly path = temporaryFolder();
  #version = 0;

  constructor(files: Files) {
    this.#write(files);
    symlinkSync(this.#name(), join(this.path, '..data'));
    for (const name of Object.keys(files)) symlinkSync(join('..data', name), join(this.path, name));
  }

  update(files: Files): void {
    const before = this.#name();
    this.#write(files);
    symlinkSync(this.#name(), join(this.path, '..data_tmp'));
    renameSync(join(this.path, '..data_tmp'), join(this.path, '..data'));
    rmSync(join(this.path, before), { recursive: true });
  }

  remove(): void {
    rmSync(this.path, { recursive: true });
  }

  #write(files: Files): void {
    this.#version++;
    mkdirSync(join(this.path, this.#name()));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.path, this.#name(), name), text);
  }

  #name(): string {
    return `..2026_11_21_10_00_0${this.#version}.123456789`;
  }
}
