import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isPolicyFile } from '../../runtime/source.ts';

/** Lists files that look like a part of the policy and are not read, so that their rules have no effect: each with the reason. */
export async function unreadFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const visible = entries.filter(({ name }) => !name.startsWith('.'));
  const misnamed = visible.filter((entry) => !entry.isDirectory() && isYaml(entry.name) && !isPolicyFile(entry.name));
  const folders = visible.filter((entry) => entry.isDirectory() && entry.name !== 'node_modules');
  const below = await Promise.all(folders.map(({ name }) => yamlIn(folder, name)));
  return [
    ...misnamed.map(({ name }) => `${name} (files of a policy end in .yaml or .yml, in small letters)`),
    ...below.flat().map((path) => `${path} (folders below the policy's are not looked into)`),
  ].sort();
}

const isYaml = (name: string): boolean => /\.ya?ml$/i.test(name);

async function yamlIn(folder: string, name: string): Promise<string[]> {
  const names = await readdir(join(folder, name)).catch(() => []);
  return names.filter((one) => isYaml(one) && !one.startsWith('.')).map((one) => join(name, one));
}
