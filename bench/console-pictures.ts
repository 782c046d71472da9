import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openConsole, openStage, VIEW_PATHS } from '../test/console/stage.ts';
import { sharedBrowser } from '../test/support/browser.ts';

/**
 * `npm run console:pictures -- FOLDER`: every view of the console in both themes and at two widths, as PNG, of a gateway with simulated
 * models and some traffic. Look at each for a minute.
 */
const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: npm run console:pictures -- FOLDER');
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const stage = await openStage(96);
for (const path of VIEW_PATHS) {
  for (const theme of ['light', 'dark'] as const) {
    for (const width of [1_280, 390]) {
      const { page } = await openConsole(stage, { path, theme, width });
      const file = join(resolve(folder), `${path.slice(1) || 'overview'}-${theme}-${width}.png`);
      await page.screenshot({ path: file, fullPage: true });
      console.log(file);
    }
  }
}
await (await sharedBrowser()).close();
await stage.stop();
process.exit(0);
