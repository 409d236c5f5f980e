"""Screenshots, and a test that a page is not blank."""

import io

import numpy as np
from PIL import Image

from webkiln.backends import browsers


def screenshot(scheme: str = "light", width: int = 1200, height: int = 900) -> np.ndarray:
    browser = browsers.session("chromium")
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    return np.asarray(Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB"))


def has_content(pixels: np.ndarray) -> bool:
    """Whether more than 1 % of the pixels differ from the most frequent colour, in at least three
    of the four quarters.
    """
    colours, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    different = np.abs(pixels.astype(int) - colours[counts.argmax()].astype(int)).sum(axis=2) > 30
    middle_y, middle_x = (length // 2 for length in different.shape)
    quarters = (
        different[:middle_y, :middle_x],
        different[:middle_y, middle_x:],
        different[middle_y:, :middle_x],
        different[middle_y:, middle_x:],
    )
    return len(counts) > 20 and sum(quarter.mean() > 0.01 for quarter in quarters) >= 3
