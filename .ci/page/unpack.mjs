// Imported first, lets a test import the page's modules: those of others exist only compressed.
import { register } from "node:module";

register("./unpacked.mjs", import.meta.url);
