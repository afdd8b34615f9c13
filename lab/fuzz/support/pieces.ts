/** The texts between double bars. */
export const pieces = (text: string): readonly string[] => text.split(/ \|\|\s/);
