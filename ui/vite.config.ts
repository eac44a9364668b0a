import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { wuchale } from "wuchale/vite";
import { manual } from "./manual.ts";

export default defineConfig({
  plugins: [manual(), wuchale(), svelte()],
  clearScreen: false,
  // The script of the customer's page and the files of the languages are tried here too. Tests compare the settings and
  // currencies with their sources.
  server: {
    port: 5173,
    strictPort: true,
    fs: {
      allow: [
        ".",
        "../docs/merchant",
        "../docs/reference",
        "../languages",
        "../src-tauri/http/src/payment_page",
        "../src-tauri/domain/src/money",
      ],
    },
  },
  // The oldest web view that Tauri 2 runs on Debian 12 is WebKitGTK 2.40.
  build: { target: "safari16", sourcemap: false },
  test: {
    environment: "jsdom",
    // Workers that serve one file each load jsdom and Svelte anew each time, and take twice as long.
    pool: "vmForks",
    maxWorkers: "100%",
    include: ["tests/**/*.test.ts"],
    setupFiles: ["tests/setup.ts"],
    // Read as text by the test of its colours; else sheets are empty there.
    css: { include: /\.css\?raw/ },
  },
  // Svelte's server build is what Node resolves by itself; components are tested in a browser's.
  resolve: process.env["VITEST"] ? { conditions: ["browser"] } : {},
});
