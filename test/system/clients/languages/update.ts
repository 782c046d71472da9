import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LANGUAGES, missingTools } from './languages.ts';
import type { PackageVersions } from './versions.ts';
import { readVersions, writeVersions } from './versions.ts';

/**
 * `npm run clients:update` writes the newest versions of all clients to `versions.json`. The command does not change a language whose tools
 * this machine lacks.
 */
const { languages: before } = readVersions();
const asOf = new Date().toISOString();
const languages = { ...before };
for (const language of LANGUAGES) {
  const missing = missingTools(language);
  if (missing.length > 0) {
    console.log(`${language.name} is skipped: this machine has no ${missing.join(' and no ')}`);
    continue;
  }
  const projects: Record<string, PackageVersions> = {};
  for (const [project, packages] of Object.entries(before[language.name] ?? {})) {
    const folder = mkdtempSync(join(tmpdir(), 'signalbox-versions-'));
    try {
      projects[project] = await language.newest(Object.keys(packages), folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    for (const [name, version] of Object.entries(projects[project]))
      if (packages[name] !== version) console.log(`${language.name}: ${name} ${packages[name]} → ${version}`);
  }
  languages[language.name] = projects;
}
writeVersions({ asOf, languages });
