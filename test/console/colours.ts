/** Colours of the console, measured. */
type Rgb = readonly [number, number, number];

const linear = (part: number): number => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);

/** @param hex `#rrggbb` */
const linearOf = (hex: string): Rgb => {
  const parts = [1, 3, 5].map((at) => linear(Number.parseInt(hex.slice(at, at + 2), 16) / 255));
  return [parts[0]!, parts[1]!, parts[2]!];
};

const luminance = ([red, green, blue]: Rgb): number => 0.2126 * red + 0.7152 * green + 0.0722 * blue;

/** The contrast of two colours by WCAG, 1 to 21. */
export function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(linearOf(one)), luminance(linearOf(other))].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

/** The custom properties of a theme that are colours, by name without the dashes. */
export function tokensOf(css: string): Record<'light' | 'dark', Readonly<Record<string, string>>> {
  const [first = '', second = ''] = css.split(':root[data-theme="dark"]');
  const read = (text: string) =>
    Object.fromEntries([...text.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, hex]) => [name, hex!]));
  return { light: read(first), dark: read(second) };
}
