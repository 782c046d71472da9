import { effect, signal } from '@preact/signals';
import { recall, remember } from './memory.ts';

export type Theme = 'system' | 'light' | 'dark';

const dark = matchMedia('(prefers-color-scheme: dark)');
const isDark = signal(dark.matches);
dark.addEventListener('change', ({ matches }) => {
  isDark.value = matches;
});

const recalled = recall('theme');
export const theme = signal<Theme>(recalled === 'light' || recalled === 'dark' ? recalled : 'system');

/** Applies the theme that the viewer chose, or the theme of the system. */
export function followTheme(): void {
  effect(() => {
    const shown = theme.value === 'system' ? (isDark.value ? 'dark' : 'light') : theme.value;
    document.documentElement.dataset.theme = shown;
    remember('theme', theme.value);
  });
}
