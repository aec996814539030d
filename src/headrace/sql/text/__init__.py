"""From characters to trees and back: tokens, one function per production, canonical text."""
